"""A tree as simplified HTML: what can be used has its label as id, fields their values, and text opens no element."""

from data.actions.simplified_html import simplified_html

TREE = """\
[1] RootWebArea 'Shop - "Home"' focused: True
\t[2] heading 'Winter <button id="3"> sale'
\t[3] searchbox 'Search' required: False
\t\t[4] StaticText 'red boots'
\t[5] combobox 'Sort' expanded: False
\t\t[6] option 'Price' selected: True
\t\t[7] option 'Name' selected: False
\t[8] link "Don't miss"
\t\t[9] image 'Boot'
\t[10] checkbox 'In stock' checked: true
\t[11] slider 'Budget' valuetext: 30 EUR valuemin: 0
\t[12] tab 'Reviews' selected: False
\t[13] StaticText 'Two for one'

PDF "terms.pdf" says <b>."""

HTML = """\
<html title="Shop - &quot;Home&quot;">
<h2> Winter &lt;button id=&quot;3&quot;> sale </h2>
<input id="3" type="search" title="Search" value="red boots"> </input>
<select id="5" title="Sort" aria-expanded="false">
<option id="6" selected> Price </option>
<option id="7"> Name </option>
</select>
<a id="8"> Don't miss
<img id="9" title="Boot"> </img>
</a>
<input id="10" type="checkbox" title="In stock" checked> </input>
<input id="11" type="range" title="Budget" value="30 EUR"> </input>
<div id="12" role="tab"> Reviews </div>
<span> Two for one </span>
</html>

PDF &quot;terms.pdf&quot; says &lt;b>."""


def test_a_tree_becomes_html() -> None:
    assert simplified_html(TREE) == HTML
    assert simplified_html("") == ""
