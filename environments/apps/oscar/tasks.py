"""What may be asked of somebody who is a customer of our shop."""

from environments.apps.oscar import instances
from environments.apps.templates import Template

TEMPLATES: dict[str, Template] = {
    "product-price": Template(
        "answer",
        (
            "How much is the {product}?",
            "What does one {product} cost in this shop?",
            "Look up the price of the {product}.",
        ),
        instances.price,
    ),
    "product-guarantee": Template(
        "answer",
        (
            "How long is the guarantee of the {product}?",
            "For how long does the maker of the {product} guarantee it?",
        ),
        instances.guarantee,
    ),
    "product-maker": Template(
        "answer",
        (
            "Who makes the {product}?",
            "I would like to know the maker of the {product}.",
        ),
        instances.maker,
        "test",
    ),
    "order-status": Template(
        "answer",
        (
            "What is the status of my order {number}?",
            "How far has my order {number} got? Tell me its status.",
        ),
        instances.order_status,
    ),
    "order-recipient": Template(
        "answer",
        (
            "Whom was my order {number} sent to?",
            "Give me the name of the person to whom order {number} was shipped.",
        ),
        instances.order_recipient,
        "test",
    ),
    "open-product": Template(
        "open",
        (
            "Show me the {product}.",
            "Open the page of the {product} and leave it there.",
            "Take me to where the {product} is sold.",
        ),
        instances.open_product,
    ),
    "open-order": Template(
        "open",
        (
            "Show me my order {number}.",
            "Open the order {number}, which I placed a while ago.",
        ),
        instances.open_order,
    ),
    "add-to-basket": Template(
        "create",
        (
            "Put {quantity} pieces of the {product} into my basket.",
            "Add the {product} to the basket, {quantity} times.",
            "I need {quantity} of this one in my basket: {product}.",
        ),
        instances.add_to_basket,
    ),
    "tell-me-when": Template(
        "create",
        (
            "Have the shop tell you when it has the {product} again.",
            "The {product} is sold out. Ask the shop to notify you once it is back.",
        ),
        instances.tell_me,
    ),
    "new-address": Template(
        "create",
        (
            "Add {first} {last} to my address book: {street}, {postcode} {city}, {country}.",
            "Note a new address in my account. The first name is {first}, the last name {last}, the street {street}, "
            "the postcode {postcode}, the city {city}, the country {country}.",
        ),
        instances.new_address,
    ),
    "new-wish-list": Template(
        "create",
        (
            "Begin a new wish list named {name}.",
            "I would like to have another wish list. Call it {name}.",
        ),
        instances.new_list,
        "test",
    ),
    "change-quantity": Template(
        "edit",
        (
            "Change the quantity of the {product} in my basket to {quantity}.",
            "There should be {quantity} of the {product} in my basket, not more and not less.",
        ),
        instances.change_quantity,
    ),
    "remove-from-basket": Template(
        "edit",
        (
            "Take the {product} out of my basket.",
            "I no longer want to buy the {product}. Remove it from the basket.",
        ),
        instances.remove,
    ),
    "save-for-later": Template(
        "edit",
        (
            "Save the {product} in my basket for later.",
            "Not now, but later: keep the {product} from my basket for another time.",
        ),
        instances.save_for_later,
    ),
    "change-street": Template(
        "edit",
        (
            "{person} has moved. Change the street in my address book to {street}; the city stays the same.",
            "In my address book the street of {person} must be {street} from now on.",
        ),
        instances.move_house,
    ),
    "add-to-wish-list": Template(
        "edit",
        (
            "Put the {product} onto my wish list {list}.",
            "Add the {product} to the list of wishes named {list}.",
        ),
        instances.wish,
    ),
    "find-by-price": Template(
        "constraints",
        (
            "Which one of the {category} costs between {low} and {high} euros?",
            "Among the {category} there is one for more than {low} and less than {high} euros. What is it called?",
        ),
        instances.between,
    ),
    "buy-cheapest": Template(
        "constraints",
        (
            "Put the cheapest of the {category} that are in stock into my basket, one of it.",
            "From the {category} that can be had at once, put one of the cheapest kind into the basket.",
        ),
        instances.cheapest,
        "test",
    ),
    "order-by-total": Template(
        "constraints",
        (
            "One of my orders came to {total} euros. What is its number?",
            "Find the number of the order for which I paid {total} euros.",
        ),
        instances.order_of,
    ),
    "check-out": Template(
        "steps",
        (
            "Order what is in my basket and have it sent to {person}.",
            "Buy everything in the basket. It should go to the address of {person}.",
        ),
        instances.buy,
    ),
    "order-again": Template(
        "steps",
        (
            "Put what I had in order {number} into my basket again, as many as then.",
            "The same as in my order {number}, please: put it into the basket in the same quantity.",
        ),
        instances.order_again,
    ),
    "wish-again": Template(
        "steps",
        (
            "Order {number} was of one product. Put that product onto my wish list {list}.",
            "Add the product that I bought by order {number} to the wish list {list}.",
        ),
        instances.wish_again,
        "test",
    ),
    "no-such-product": Template(
        "impossible",
        (
            "Put {quantity} pieces of this product into my basket: {product}.",
            "I would like {quantity} of the {product}. Put them into the basket.",
        ),
        instances.missing,
    ),
    "sold-out": Template(
        "impossible",
        (
            "Fill my basket with {quantity} of the {product}.",
            "Let me have the {product} in my basket, {quantity} pieces.",
        ),
        instances.sold_out,
    ),
}
