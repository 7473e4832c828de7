"""Our EFM, MTER and M-BPR beside the originals: Cornac's EFM and MTER, implicit's BPR."""
