"""The directional criterion: how likely the direction is in which two ratings differ (paper 3.1).

`families` and `reference` state it in readable NumPy; the kernels beside them are fast.
"""

from dmrank.data.training_scale import from_training_scale, to_training_scale
from dmrank.directional.covariance import (
    cholesky_gradient,
    inverse_wishart_gradient,
    inverse_wishart_log_prior,
)
from dmrank.directional.families import Derivatives, Family, Gaussian, Student
from dmrank.directional.projected import ProjectedGaussian, ProjectedStudent
from dmrank.directional.reference import (
    Gradients,
    RayStatistics,
    confidence,
    gradients,
    log_likelihood,
    ray_statistics,
)

__all__ = [
    "Derivatives",
    "Family",
    "Gaussian",
    "Gradients",
    "ProjectedGaussian",
    "ProjectedStudent",
    "RayStatistics",
    "Student",
    "cholesky_gradient",
    "confidence",
    "from_training_scale",
    "gradients",
    "inverse_wishart_gradient",
    "inverse_wishart_log_prior",
    "log_likelihood",
    "ray_statistics",
    "to_training_scale",
]
