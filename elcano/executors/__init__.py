"""Where commands run: `elcano run --executor NAME` takes `Executor` of the file of that name in this folder."""
