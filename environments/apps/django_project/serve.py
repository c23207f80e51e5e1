"""Serves a Django project on this machine alone; run by the application's Python: serve.py APPLICATION STATE PORT"""

import os
import sys

application, state, port = sys.argv[1:]
sys.path.append(application)
os.environ.update(STATE=state, DJANGO_SETTINGS_MODULE="project.settings")

from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402 - reads the environment
from django.core.servers import basehttp  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402

basehttp.run("127.0.0.1", int(port), StaticFilesHandler(get_wsgi_application()), threading=True)
