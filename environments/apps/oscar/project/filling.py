"""Fills a new shop with content, run by the Python that django-oscar is in."""

import io
from decimal import Decimal

from django.contrib.auth import get_user_model
from django.contrib.sites.models import Site
from django.core.files.base import ContentFile
from django.core.management import call_command
from oscar.apps.basket.models import Basket
from oscar.apps.partner.strategy import Selector
from oscar.core.loading import get_model
from PIL import Image, ImageDraw
from sorl.thumbnail import get_thumbnail

CURRENCY = "EUR"
SIZES = ("x155", "100x100", "440x400")  # that the pages show: none needs to be made while an agent waits
LINE = "#404040"
ATTRIBUTES = ("maker", "guarantee")


def fill(content):
    """Everything that `content` names; the agent's user."""
    Site.objects.update(domain="oscar.localhost", name="Driftwood")
    users = get_user_model().objects
    people = {
        email: users.create_user(email.partition("@")[0], email, first_name=first, last_name=last)
        for email, (first, last) in content["customers"].items()
    }
    agent = people[content["agent"]]
    countries = {
        code: get_model("address", "Country").objects.create(
            iso_3166_1_a2=code, printable_name=name, name=name, is_shipping_country=True
        )
        for code, name in content["countries"].items()
    }
    products = _products(content["products"])
    for address in content["addresses"]:
        get_model("address", "UserAddress").objects.create(user=agent, **_address(address, countries))
    for review in content["reviews"]:
        user, product = people[review.pop("customer")], products[review.pop("product")]
        get_model("reviews", "ProductReview").objects.create(user=user, product=product, **review)
    for name, titles in content["lists"].items():
        wished = get_model("wishlists", "WishList").objects.create(owner=agent, name=name)
        for title in titles:
            wished.add(products[title])
    for order in content["orders"]:
        where = _address(content["addresses"][order["to"]], countries)
        _order(people[order["customer"]], order, {name: products[name] for name in order["lines"]}, where)
    get_model("partner", "StockRecord").objects.update(num_allocated=0)
    _basket(agent, content["basket"], products)
    call_command("rebuild_index", interactive=False, verbosity=0)
    return agent


def _products(known):
    kind = get_model("catalogue", "ProductClass").objects.create(name="Household")
    for name in ATTRIBUTES:
        kind.attributes.create(name=name.capitalize(), code=name, type="text")
    partner = get_model("partner", "Partner").objects.create(name="Driftwood")
    categories = {}
    for category in dict.fromkeys(product["category"] for product in known):
        categories[category] = get_model("catalogue", "Category").add_root(name=category)
    return {one["title"]: _product(number, one, kind, partner, categories) for number, one in enumerate(known, 1)}


def _product(number, about, kind, partner, categories):
    product = get_model("catalogue", "Product")(
        title=about["title"], upc=f"D{number:03}", product_class=kind, description=about["description"]
    )
    for name in ATTRIBUTES:
        setattr(product.attr, name, about[name])
    product.save()
    product.categories.add(categories[about["category"]])
    product.stockrecords.create(
        partner=partner,
        partner_sku=product.upc,
        price=Decimal(about["price"]),
        price_currency=CURRENCY,
        num_in_stock=about["stock"],
    )
    image = product.images.create(original=ContentFile(_picture(about), f"{product.upc}.png"))
    for size in SIZES:
        get_thumbnail(image.original, size, upscale=False)
    return product


def _picture(about):
    """A shape for the category in the color of the product."""
    picture = Image.new("RGB", (240, 240), "#fafafa")
    draw, box = ImageDraw.Draw(picture), (40, 40, 200, 200)
    ring = {"fill": about["color"], "outline": LINE, "width": 3}
    shapes = {
        "Lamps": lambda: (draw.polygon([(80, 50), (160, 50), (200, 130), (40, 130)], **ring), _leg(draw)),
        "Chairs": lambda: (
            [draw.rectangle(one, **ring) for one in ((70, 40, 90, 210), (70, 120, 170, 140))]
            + [draw.rectangle((150, 120, 170, 210), **ring)]
        ),
        "Rugs": lambda: draw.rectangle((30, 70, 210, 170), **ring),
        "Clocks": lambda: (draw.ellipse(box, **ring), draw.line([(120, 60), (120, 120), (170, 120)], LINE, 5)),
        "Kettles": lambda: (draw.ellipse((50, 80, 190, 210), **ring), draw.arc((70, 30, 170, 130), 180, 0, LINE, 6)),
        "Blankets": lambda: [draw.rectangle((60, top, 180, top + 40), **ring) for top in (60, 100, 140)],
    }
    shapes[about["category"]]()
    written = io.BytesIO()
    picture.save(written, "PNG")
    return written.getvalue()


def _leg(draw):
    draw.rectangle((114, 130, 126, 205), fill=LINE)


def _address(known, countries):
    return {
        **{name: known[name] for name in ("first_name", "last_name", "line1", "postcode")},
        "line4": known["city"],
        "country": countries[known["country"]],
    }


def _basket(user, lines, products):
    basket = Basket.objects.create(owner=user)
    basket.strategy = Selector().strategy(user=user)
    for title, quantity in lines.items():
        basket.add_product(products[title], quantity)
    return basket


def _order(user, known, products, where):
    from oscar.apps.checkout.calculators import OrderTotalCalculator
    from oscar.apps.order.utils import OrderCreator, OrderNumberGenerator
    from oscar.apps.shipping.methods import Free

    basket, method = _basket(user, known["lines"], products), Free()
    charge = method.calculate(basket)
    order = OrderCreator().place_order(
        basket=basket,
        total=OrderTotalCalculator().calculate(basket, charge),
        shipping_method=method,
        shipping_charge=charge,
        shipping_address=get_model("order", "ShippingAddress").objects.create(**where),
        user=user,
        order_number=OrderNumberGenerator().order_number(basket),
        status=known["status"],
    )
    basket.submit()
    return order
