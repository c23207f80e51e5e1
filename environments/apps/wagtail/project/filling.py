"""Fills a new website with content, run by the Python that Wagtail is in."""

import datetime
from importlib import import_module

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, Permission
from django.db import connection, transaction
from project.models import ArticlePage, Category, EventPage, Person, SectionPage
from wagtail.contrib.redirects.models import Redirect
from wagtail.models import Collection, GroupPagePermission, Locale, Page, Site

BEGUN = datetime.datetime(2025, 11, 3, 7, 30, tzinfo=datetime.UTC)
MODELS = {"article": ArticlePage, "event": EventPage, "section": SectionPage}
EVERYTHING = ("add_page", "change_page", "publish_page", "lock_page", "unlock_page")
KINDS = ("category", "person", "redirect")


@transaction.atomic
def fill(content):
    """Everything that `content` names; the agent's user."""
    _search_index()
    agent, editor = (get_user_model().objects.create_user(content[name]) for name in ("agent", "editor"))
    people = {about["name"]: Person.objects.create(**about) for about in content["people"]}
    categories = {
        name: Category.objects.create(name=name, description=text) for name, text in content["categories"].items()
    }
    pages = {"": _home(content["home"], editor)}
    for about in content["pages"]:
        fields = dict(about["fields"])
        if "author" in fields:
            fields |= {"author": people[fields["author"]], "category": categories[fields["category"]]}
        pages[about["title"]] = _page(about, fields, pages[about["parent"]], editor)
    for old, title in content["redirects"].items():
        Redirect.objects.create(old_path=old, redirect_page=pages[title])
    _allow(agent, {pages[name]: EVERYTHING for name in content["open"]} | {pages[content["foreign"]]: ("add_page",)})
    return agent


def _search_index():
    """The tables that Wagtail's search looks for: a migration of theirs makes them, and here none was run."""
    special = import_module("wagtail.search.migrations.0006_customise_indexentry").Migration.operations[-1]
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE wagtailsearch_indexentry_fts")
        for operation in special.database_operations:
            cursor.execute(operation.sql)


def _home(title, owner):
    """Below the root of all pages."""
    Locale.objects.create(language_code="en-gb")
    Collection.add_root(name="Root")
    root = Page.add_root(title="Root", slug="root")
    home = root.add_child(instance=SectionPage(title=title, slug="home", live=False, owner=owner))
    Site.objects.create(hostname="localhost", root_page=home, is_default_site=True, site_name=title)
    return _saved(home, 0, owner, live=True)


def _page(about, fields, parent, owner):
    page = MODELS[about["type"]](title=about["title"], live=False, owner=owner, **fields)
    page.show_in_menus = parent.depth == 2
    parent.refresh_from_db()
    page = _saved(parent.add_child(instance=page), about["minute"], owner, about["live"])
    if about["waiting"]:
        for name, value in about["waiting"].items():
            setattr(page, name, value)
        page = _saved(page, about["minute"], owner, live=False)
    return page


def _saved(page, minute, user, live):
    """With a version of that time, published or not."""
    when = BEGUN + datetime.timedelta(minutes=minute)
    version = page.save_revision(user=user)
    if live:
        version.publish()
    type(version).objects.filter(pk=version.pk).update(created_at=when)
    type(page).objects.filter(pk=page.pk).update(latest_revision_created_at=when)
    type(page).objects.filter(pk=page.pk, live=True).update(first_published_at=when, last_published_at=when)
    return type(page).objects.get(pk=page.pk)


def _allow(user, rights):
    group = Group.objects.create(name="Web editors")
    user.groups.add(group)
    names = [f"{may}_{kind}" for may in ("add", "change", "delete") for kind in KINDS]
    group.permissions.set(Permission.objects.filter(codename__in=["access_admin", *names]))
    for page, may in rights.items():
        for name in may:
            right = Permission.objects.get(content_type__app_label="wagtailcore", codename=name)
            GroupPagePermission.objects.create(group=group, page=page, permission=right)
