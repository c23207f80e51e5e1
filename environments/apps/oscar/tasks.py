"""What may be asked of somebody who is a customer of our shop."""

from environments.apps.oscar import instances
from environments.apps.templates import Template, ask

TEMPLATES: dict[str, Template] = {
    "product-price": ask(
        "answer",
        instances.price,
        "How much is the {product}?",
        "What does one {product} cost in this shop?",
        "Look up the price of the {product}.",
    ),
    "product-guarantee": ask(
        "answer",
        instances.guarantee,
        "How long is the guarantee of the {product}?",
        "For how long does the maker of the {product} guarantee it?",
    ),
    "product-maker": ask(
        "answer",
        instances.maker,
        "Who makes the {product}?",
        "I would like to know the maker of the {product}.",
        split="test",
    ),
    "order-status": ask(
        "answer",
        instances.order_status,
        "What is the status of my order {number}?",
        "How far has my order {number} got? Tell me its status.",
    ),
    "order-recipient": ask(
        "answer",
        instances.order_recipient,
        "Whom was my order {number} sent to?",
        "Give me the name of the person to whom order {number} was shipped.",
        split="test",
    ),
    "open-product": ask(
        "open",
        instances.open_product,
        "Show me the {product}.",
        "Open the page of the {product} and leave it there.",
        "Take me to where the {product} is sold.",
    ),
    "open-order": ask(
        "open",
        instances.open_order,
        "Show me my order {number}.",
        "Open the order {number}, which I placed a while ago.",
    ),
    "add-to-basket": ask(
        "create",
        instances.add_to_basket,
        "Put {quantity} pieces of the {product} into my basket.",
        "Add the {product} to the basket, {quantity} times.",
        "I need {quantity} of this one in my basket: {product}.",
    ),
    "tell-me-when": ask(
        "create",
        instances.tell_me,
        "Have the shop tell you when it has the {product} again.",
        "The {product} is sold out. Ask the shop to notify you once it is back.",
    ),
    "new-address": ask(
        "create",
        instances.new_address,
        "Add {first} {last} to my address book: {street}, {postcode} {city}, {country}.",
        (
            "Note a new address in my account. The first name is {first}, the last name {last}, the street {street}, "
            "the postcode {postcode}, the city {city}, the country {country}."
        ),
    ),
    "new-wish-list": ask(
        "create",
        instances.new_list,
        "Begin a new wish list named {name}.",
        "I would like to have another wish list. Call it {name}.",
        split="test",
    ),
    "change-quantity": ask(
        "edit",
        instances.change_quantity,
        "Change the quantity of the {product} in my basket to {quantity}.",
        "There should be {quantity} of the {product} in my basket, not more and not less.",
    ),
    "remove-from-basket": ask(
        "edit",
        instances.remove,
        "Take the {product} out of my basket.",
        "I no longer want to buy the {product}. Remove it from the basket.",
    ),
    "save-for-later": ask(
        "edit",
        instances.save_for_later,
        "Save the {product} in my basket for later.",
        "Not now, but later: keep the {product} from my basket for another time.",
    ),
    "change-street": ask(
        "edit",
        instances.move_house,
        "{person} has moved. Change the street in my address book to {street}; the city stays the same.",
        "In my address book the street of {person} must be {street} from now on.",
    ),
    "add-to-wish-list": ask(
        "edit",
        instances.wish,
        "Put the {product} onto my wish list {list}.",
        "Add the {product} to the list of wishes named {list}.",
    ),
    "find-by-price": ask(
        "constraints",
        instances.between,
        "Which one of the {category} costs between {low} and {high} euros?",
        "Among the {category} there is one for more than {low} and less than {high} euros. What is it called?",
    ),
    "buy-cheapest": ask(
        "constraints",
        instances.cheapest,
        "Put the cheapest of the {category} that are in stock into my basket, one of it.",
        "From the {category} that can be had at once, put one of the cheapest kind into the basket.",
        split="test",
    ),
    "order-by-total": ask(
        "constraints",
        instances.order_of,
        "One of my orders came to {total} euros. What is its number?",
        "Find the number of the order for which I paid {total} euros.",
    ),
    "check-out": ask(
        "steps",
        instances.buy,
        "Order what is in my basket and have it sent to {person}.",
        "Buy everything in the basket. It should go to the address of {person}.",
    ),
    "order-again": ask(
        "steps",
        instances.order_again,
        "Put what I had in order {number} into my basket again, as many as then.",
        "The same as in my order {number}, please: put it into the basket in the same quantity.",
    ),
    "wish-again": ask(
        "steps",
        instances.wish_again,
        "Order {number} was of one product. Put that product onto my wish list {list}.",
        "Add the product that I bought by order {number} to the wish list {list}.",
        split="test",
    ),
    "no-such-product": ask(
        "impossible",
        instances.missing,
        "Put {quantity} pieces of this product into my basket: {product}.",
        "I would like {quantity} of the {product}. Put them into the basket.",
    ),
    "sold-out": ask(
        "impossible",
        instances.sold_out,
        "Fill my basket with {quantity} of the {product}.",
        "Let me have the {product} in my basket, {quantity} pieces.",
    ),
}
