# ---
# jupyter:
#   kernelspec:
#     name: python3
#     display_name: Python 3
# ---

# %% [markdown]
# # Serving, and the page
# A model over HTTP: lists with what each row is made of, newcomers, ratings that the next list knows, and a page
# for people who choose. On the command line it is one line, `dmrank serve hotels.dmrank --open`
# ([all of it](../service.md)); here it is started from Python, asked, and stopped.

# %%
import json
import socket
import subprocess
import sys
import time
import urllib.request

import dmrank

split = dmrank.make_hotels(seed=0).ratings.split(seed=0)
model = dmrank.Hurdle(seed=0).fit(split.train, validation=split.validation)
model.save("hotels.dmrank")

with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = free.getsockname()[1]
command = f"-m dmrank serve hotels.dmrank --port {port} --workers 1"
service = subprocess.Popen([sys.executable, *command.split()], stderr=subprocess.DEVNULL)


# %%
def ask(path, body=None, method=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    place = f"http://localhost:{port}{path}"
    request = urllib.request.Request(place, data, headers, method=method)
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


for _ in range(300):  # until it is there
    try:
        ask("/health/ready")
        break
    except OSError:
        time.sleep(0.1)

ask("/v1/model")["aspects"]

# %% [markdown]
# ## A list
# By any mix of aspects, and from what somebody would come to (`preference=0`) to what they would like (1). Each row
# says what its score is made of, and how likely it is to be liked better than the next one on this mix.

# %%
answer = ask("/v1/recommend?user=u000012&n=3&by=service&by=value=2&preference=0.5")
row = answer["lists"][0]["rows"][0]
row["name"], row["score"], row["better_than_next"]

# %%
parts = {name: part for name, part in row["contributions"].items() if part}
parts, 0.5 * row["exposure"] + sum(parts.values())  # which is the score

# %% [markdown]
# ## Newcomers, and people who rate
# Ratings in the body make a list at once, and are forgotten. Ratings that are PUT are kept: the next list knows them.

# %%
first = [{"item": row["item"], "overall": 5, "service": 4}]
[each["name"] for each in ask("/v1/recommend/new", {"ratings": first, "n": 3})["lists"][0]["rows"]]

# %%
ask("/v1/ratings?user=ann", {"ratings": first}, method="PUT")
[each["name"] for each in ask("/v1/recommend?user=ann&n=3")["lists"][0]["rows"]]

# %% [markdown]
# ## Which mix puts it first?
# The smallest change of a mix by which one item stands before another, or the orders that prevent it: what the page
# asks when somebody drags a row.

# %%
rows = ask("/v1/recommend?user=u000012&by=service&preference=1&n=5")["lists"][0]["rows"]
wanted = {
    "user": "u000012",
    "orders": [[rows[3]["item"], rows[0]["item"]]],
    "by": "service",
    "preference": 1,
}
ask("/v1/weights", wanted)

# %% [markdown]
# ## A mistake
# Is a problem (RFC 9457) with the sentence that the library has for it.

# %%
try:
    ask("/v1/recommend?user=u000012&by=servise")
except urllib.error.HTTPError as error:
    print(error.code, json.load(error)["detail"])

# %% [markdown]
# ## The page
# At `http://localhost:8088/`, and `/docs` describes every route. It ranks in the browser with `/v1/scores`, so that
# the list follows a slider while it moves.
#
# ![The page](../figures/page.png)
#
# SIGTERM finishes what runs.

# %%
service.terminate()
service.wait()
