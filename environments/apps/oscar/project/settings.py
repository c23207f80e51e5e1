"""Settings of our shop, run by the Python that django-oscar is in."""

from pathlib import Path

from common_settings import *  # noqa: F403 - as Django's settings are shared
from common_settings import CONTEXT_PROCESSORS, MIDDLEWARE, SEARCH_INDEX
from oscar.defaults import *  # noqa: F403

_OSCAR = (
    *("analytics.apps.Analytics", "checkout.apps.Checkout", "address.apps.Address", "shipping.apps.Shipping"),
    *("catalogue.apps.Catalogue", "catalogue.reviews.apps.CatalogueReviews", "communication.apps.Communication"),
    *("partner.apps.Partner", "basket.apps.Basket", "payment.apps.Payment", "offer.apps.Offer", "order.apps.Order"),
    *("customer.apps.Customer", "search.apps.Search", "voucher.apps.Voucher", "wishlists.apps.Wishlists"),
    *("dashboard.apps.Dashboard", "dashboard.reports.apps.ReportsDashboard", "dashboard.users.apps.UsersDashboard"),
    *("dashboard.orders.apps.OrdersDashboard", "dashboard.catalogue.apps.CatalogueDashboard"),
    *("dashboard.offers.apps.OffersDashboard", "dashboard.partners.apps.PartnersDashboard"),
    *("dashboard.pages.apps.PagesDashboard", "dashboard.ranges.apps.RangesDashboard"),
    *("dashboard.reviews.apps.ReviewsDashboard", "dashboard.vouchers.apps.VouchersDashboard"),
    *("dashboard.communications.apps.CommunicationsDashboard", "dashboard.shipping.apps.ShippingDashboard"),
)
_DJANGO = ("auth", "contenttypes", "sessions", "messages", "staticfiles", "sites", "flatpages")
INSTALLED_APPS = (
    *(f"django.contrib.{name}" for name in _DJANGO),
    "oscar.config.Shop",
    *(f"oscar.apps.{name}Config" for name in _OSCAR),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2", "sorl.thumbnail"),
)
MIDDLEWARE = (*MIDDLEWARE, "oscar.apps.basket.middleware.BasketMiddleware")
AUTHENTICATION_BACKENDS = ("oscar.apps.customer.auth_backends.EmailBackend",)
_PROCESSORS = (
    *CONTEXT_PROCESSORS,
    *("oscar.apps.search.context_processors.search_form", "oscar.apps.checkout.context_processors.checkout"),
    "oscar.apps.communication.notifications.context_processors.notifications",
    "oscar.core.context_processors.metadata",
)
TEMPLATES = (
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": (Path(__file__).with_name("templates"),),
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": _PROCESSORS},
    },
)
HAYSTACK_CONNECTIONS = SEARCH_INDEX
OSCAR_SHOP_NAME, OSCAR_SHOP_TAGLINE = "Driftwood", "for the home"
OSCAR_DEFAULT_CURRENCY = "EUR"
OSCAR_SEND_REGISTRATION_EMAIL = False
OSCAR_INITIAL_ORDER_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Being packed", "Cancelled"),
    "Being packed": ("Sent", "Cancelled"),
    "Sent": (),
    "Cancelled": (),
}
