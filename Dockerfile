# The whole loop on CPUs, browsers included:
#   docker build -t elcano .
#   docker run -it -v "$PWD/runs:/elcano/runs" elcano bash examples/quickstart/run.sh
FROM python:3.12-slim-bookworm
WORKDIR /elcano
COPY . .
RUN bash install.sh
ENV VIRTUAL_ENV=/elcano/.venv PATH=/elcano/.venv/bin:$PATH
CMD ["elcano", "--help"]
