"""The kinds of pages of our website, and its people and categories, run by the Python that Wagtail is in."""

from django.db import models
from wagtail.admin.panels import FieldPanel
from wagtail.models import Page
from wagtail.snippets.models import register_snippet


@register_snippet
class Person(models.Model):
    name = models.CharField(max_length=80, unique=True)
    office = models.CharField(max_length=80)
    phone = models.CharField(max_length=20)

    panels = (FieldPanel("name"), FieldPanel("office"), FieldPanel("phone"))

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "people"

    def __str__(self):
        return self.name


@register_snippet
class Category(models.Model):
    name = models.CharField(max_length=80, unique=True)
    description = models.CharField(max_length=200, blank=True)

    panels = (FieldPanel("name"), FieldPanel("description"))

    class Meta:
        ordering = ("name",)
        verbose_name_plural = "categories"

    def __str__(self):
        return self.name


class SectionPage(Page):
    """What has other pages below it; the start page is one, too."""

    introduction = models.CharField(max_length=200, blank=True)

    content_panels = (*Page.content_panels, FieldPanel("introduction"))

    class Meta:
        verbose_name = "section"

    def shown(self):
        """The pages below it that everybody sees."""
        return self.get_children().live().specific()


class ArticlePage(Page):
    summary = models.CharField(max_length=200)
    body = models.TextField(blank=True)
    author = models.ForeignKey(Person, models.SET_NULL, null=True, blank=True)
    category = models.ForeignKey(Category, models.SET_NULL, null=True, blank=True)

    content_panels = (
        *Page.content_panels,
        *(FieldPanel(name) for name in ("summary", "author", "category", "body")),
    )
    subpage_types = ()

    class Meta:
        verbose_name = "article"


class EventPage(Page):
    place = models.CharField(max_length=80)
    day = models.DateField(null=True, blank=True)
    details = models.TextField(blank=True)

    content_panels = (*Page.content_panels, *(FieldPanel(name) for name in ("place", "day", "details")))
    subpage_types = ()

    class Meta:
        verbose_name = "event"
