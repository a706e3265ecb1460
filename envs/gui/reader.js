// Reads and prepares elements for `looking.py` and `acting.py`, in a world that the document's own scripts do not see.
(() => {
  if (globalThis.cairn) return;
  const SILENT = new Set(["SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE", "LINK", "META", "HEAD"]);
  const ACTED_ON = new Set([
    "button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
    "radio", "scrollbar", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
  ]);
  const TYPED = new Set(["text", "search", "email", "url", "tel", "password", "number"]);
  const BREAKS = new Set(["BR", "HR", "WBR"]);
  const MOST_CHARS = 400, MOST_TEXT_CHARS = 4000;
  const VOLATILE = "data-volatile"; // nothing follows from such an element; of a document: from these names in its address
  let elements = [];

  // A form's or document's own properties give way to what stands in it under their names: these do not.
  const own = (type, name) => {
    const found = Object.getOwnPropertyDescriptor(type.prototype, name);
    return found.get ? (it) => found.get.call(it) : (it, ...given) => found.value.apply(it, given);
  };
  const [nodeType, childNodes, ownerDocument, isConnected, contains, rootOf, parentOf] =
    ["nodeType", "childNodes", "ownerDocument", "isConnected", "contains", "getRootNode", "parentElement"].map((n) => own(Node, n));
  const [tagName, attribute, hasAttribute, isShown, shadowRoot, numChildren, roleOf, nameOf, rectOf, rectsOf, closest, below, show, leftOf, topOf] =
    ["tagName", "getAttribute", "hasAttribute", "checkVisibility", "shadowRoot", "childElementCount", "computedRole", "computedName",
      "getBoundingClientRect", "getClientRects", "closest", "querySelectorAll", "scrollIntoView", "scrollLeft", "scrollTop"].map((n) => own(Element, n));
  const [isEditable, isDraggable, textOf, focusOn] =
    ["isContentEditable", "draggable", "innerText", "focus"].map((n) => own(HTMLElement, n));
  const [bodyOf, titleOf, rootElement, allOf, focusedIn, viewOf, selectionIn] =
    ["body", "title", "documentElement", "querySelectorAll", "activeElement", "defaultView", "getSelection"].map((n) => own(Document, n));
  const isHtml = (element) => element instanceof HTMLElement;

  const cut = (text, most) => text.length > most ? text.slice(0, most) + "…" : text;
  const tidy = (text) => cut((text || "").replace(/\s+/g, " ").trim(), MOST_CHARS);
  const inLines = (text) => cut(text.replace(/^\s*\n|\s+$/g, ""), MOST_TEXT_CHARS); // where line breaks and spaces are seen
  const box = (rect, dx, dy) => [rect.x + dx, rect.y + dy, rect.width, rect.height].map(Math.round);

  function valueOf(element) {
    const tag = tagName(element);
    if (tag === "SELECT") return Array.from(element.selectedOptions, (option) => tidy(option.label)).join(", ");
    if (tag === "TEXTAREA") return cut(element.value, MOST_TEXT_CHARS);
    if (tag === "PROGRESS" || tag === "METER") return String(element.value);
    if (tag === "INPUT") {
      if (["checkbox", "radio", "submit", "button", "reset", "image", "file"].includes(element.type)) return null;
      return element.type === "password" ? "•".repeat(Math.min(element.value.length, 40)) : cut(element.value, MOST_CHARS);
    }
    return isHtml(element) && isEditable(element) && roleOf(element) === "textbox" ? inLines(textOf(element)) : null;
  }

  function statesOf(element) {
    const found = [];
    const says = (name) => attribute(element, "aria-" + name);
    if (element.checked === true || says("checked") === "true") found.push("checked");
    if (element.disabled === true || says("disabled") === "true") found.push("disabled");
    if (element.readOnly === true) found.push("read-only");
    if (says("selected") === "true" || says("current") === "page") found.push("selected");
    if (says("pressed") === "true") found.push("pressed");
    if (says("expanded") !== null) found.push(says("expanded") === "true" ? "expanded" : "collapsed");
    const its = ownerDocument(element);
    if (focusedIn(its) === element && element !== bodyOf(its)) found.push("focused");
    return found;
  }

  // A drawing without a name is none to speak of: Chromium takes it for an image or not, by when it has last looked.
  function kindOf(element) {
    const role = roleOf(element);
    if (role === "image" && tagName(element) === "svg" && !nameOf(element)) return "generic";
    return role || (tagName(element) === "INPUT" ? element.type : "generic");
  }

  function isActedOn(element, role, isPointed, isLeaf, everything) {
    if (ACTED_ON.has(role) || hasAttribute(element, "onclick") || hasAttribute(element, "tabindex")) return true;
    if (isHtml(element) && (isEditable(element) || (isDraggable(element) && tagName(element) !== "IMG"))) return true;
    return isPointed || (everything && isLeaf && !BREAKS.has(tagName(element)));
  }

  // What stands for words where an element has none, or is drawn: its tag and class, its colour, and its place.
  function looksOf(element, [x, y, width, height]) {
    const style = getComputedStyle(element), drawn = style.fill === "none" ? style.stroke : style.fill;
    const picture = /url\(.*?([^/"]+)"?\)/.exec(tagName(element) === "IMG" ? `url(${element.src})` : style.backgroundImage);
    const kind = [tagName(element).toLowerCase(), ...(attribute(element, "class") || "").split(/\s+/)].filter((part) => part);
    const colour = hex(isDrawn(element) ? drawn : style.backgroundColor);
    return [tidy(kind.join(".")), colour, picture && tidy(picture[1]), `at ${x},${y} ${width}x${height}`].filter((part) => part);
  }

  const isDrawn = (element) => element instanceof SVGElement;
  const hex = (colour) => {
    const parts = (colour.match(/[\d.]+/g) || []).map(Number);
    if (parts.length < 3 || parts[3] === 0) return null;
    return "#" + parts.slice(0, 3).map((part) => Math.round(part).toString(16).padStart(2, "0")).join("");
  };

  // What elements hold beyond what is shown of them: texts as they are, hidden fields, carets, and how far they are scrolled.
  function* held(elements) {
    for (const element of elements) {
      const tag = tagName(element);
      if (tag === "INPUT" || tag === "TEXTAREA")
        yield [element.value, element.checked, element.selectionStart, element.selectionEnd, element.selectionDirection];
      else if (tag === "SELECT") yield Array.from(element.options, (option) => option.selected);
      if (leftOf(element) || topOf(element)) yield [tag, leftOf(element), topOf(element)];
      if (shadowRoot(element)) yield* held(shadowRoot(element).querySelectorAll("*"));
      if (tag === "IFRAME" && element.contentDocument) yield* heldIn(element.contentDocument);
    }
  }

  function* heldIn(its) {
    const chosen = selectionIn(its);
    if (chosen) yield [String(chosen), chosen.anchorOffset, chosen.focusOffset];
    yield* held(allOf(its, "*"));
  }

  // Two hashes of 32 bits (FNV-1a, of two beginnings); nobody gains by texts of equal ones.
  function digest(text) {
    let [one, two] = [0x811c9dc5, 0x9747b28c];
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      one = Math.imul(one ^ code, 0x01000193);
      two = Math.imul(two ^ code, 0x85ebca6b);
    }
    return `${one >>> 0}.${two >>> 0}`;
  }

  // Rows: [parent, role, name, value, states, can be acted on, [x, y, width, height], options, is volatile]; a text's role is "text".
  function look(everything, most) {
    elements = [];
    const rows = [];
    let unread = 0;

    const text = (node, parent, dx, dy) => {
      const shown = parentOf(node) ? getComputedStyle(parentOf(node)).whiteSpace : "";
      const said = /^(pre|break-spaces)/.test(shown) ? inLines(node.data) : tidy(node.data);
      if (!said) return;
      if (rows.length >= most) return void unread++;
      const range = new Range();
      range.selectNodeContents(node);
      const place = range.getBoundingClientRect();
      if (everything && !place.width && !place.height) return; // letters of no size
      rows.push([parent, "text", said, null, [], 0, box(place, dx, dy), null, false]);
      elements.push(null);
    };

    const element = (node, parent, dx, dy, pointer) => {
      if (SILENT.has(tagName(node)) || attribute(node, "aria-hidden") === "true") return;
      if (!isShown(node, { visibilityProperty: true, contentVisibilityAuto: true })) return;
      if (rows.length >= most) { unread += 1 + below(node, "*").length; return; }
      const at = rows.length, isField = tagName(node) === "INPUT";
      const role = kindOf(node);
      const points = getComputedStyle(node).cursor === "pointer";
      const shadow = shadowRoot(node);
      const isLeaf = !numChildren(node) && !shadow;
      const acted = isField || isActedOn(node, role, points && !pointer, isLeaf, everything) ? 1 : 0;
      const options = tagName(node) === "SELECT" ? Array.from(node.options, (option) => tidy(option.label)) : null;
      const place = box(rectOf(node), dx, dy), name = tidy(nameOf(node));
      const looks = everything && acted && (!name || isDrawn(node)) ? looksOf(node, place) : [];
      rows.push([parent, role, name, valueOf(node), statesOf(node).concat(looks), acted, place, options, hasAttribute(node, VOLATILE)]);
      elements.push(node);
      if (options || tagName(node) === "TEXTAREA") return;
      const frame = tagName(node) === "IFRAME" && node.contentDocument && bodyOf(node.contentDocument);
      if (frame) {
        const corner = rectOf(node);
        element(frame, at, dx + corner.x + node.clientLeft, dy + corner.y + node.clientTop, false);
      }
      for (const child of childNodes(shadow || node)) visit(child, at, dx, dy, points);
    };

    const visit = (node, parent, dx, dy, pointer) => {
      if (nodeType(node) === Node.TEXT_NODE) text(node, parent, dx, dy);
      else if (nodeType(node) === Node.ELEMENT_NODE) element(node, parent, dx, dy, pointer);
    };

    const modal = Array.from(allOf(document, "dialog:modal")).pop();
    const html = rootElement(document), root = modal || bodyOf(document) || html;
    if (root) visit(root, -1, 0, 0, false);
    return {
      title: tidy(titleOf(document)), rows, left: unread, scroll: [Math.round(scrollX), Math.round(scrollY)],
      size: [innerWidth, innerHeight], height: html ? html.scrollHeight : 0, held: digest(JSON.stringify([...heldIn(document)])),
      volatile: (html && attribute(html, VOLATILE) || "").split(/\s+/).filter((name) => name),
    };
  }

  const frameOffset = (element) => {
    let dx = 0, dy = 0;
    for (let view = viewOf(ownerDocument(element)); view && view !== window; view = view.parent) {
      const frame = rectOf(view.frameElement);
      dx += frame.x + view.frameElement.clientLeft;
      dy += frame.y + view.frameElement.clientTop;
    }
    return [dx, dy];
  };

  // Brings an element into view; returns its middle, and whether that took scrolling.
  function bring(at) {
    const element = elements[at];
    if (!element || !isConnected(element)) return { problem: "is not there any more" };
    const middle = () => {
      const [dx, dy] = frameOffset(element), place = rectsOf(element)[0] || rectOf(element);
      return [place.x + place.width / 2 + dx, place.y + place.height / 2 + dy];
    };
    const isIn = ([x, y]) => x >= 0 && y >= 0 && x < innerWidth && y < innerHeight;
    const moves = !isIn(middle());
    if (moves) show(element, { block: "center", inline: "center", behavior: "instant" });
    const [x, y] = middle();
    return isIn([x, y]) ? { x, y, moves } : { problem: "cannot be brought into view" };
  }

  // Brings an element into view to act on it; returns its middle, or what is in the way.
  function point(at) {
    const found = bring(at), element = elements[at], { x, y } = found;
    if (found.problem) return found;
    if (element.disabled === true) return { problem: "is disabled" };
    const [dx, dy] = frameOffset(element), hit = rootOf(element).elementFromPoint(x - dx, y - dy);
    const label = hit && closest(hit, "label");
    const reaches = !hit || hit === element || contains(element, hit) || contains(hit, element) ||
      (label && label.control === element);
    const name = hit && tidy(nameOf(hit));
    return reaches ? found : { problem: `is covered by ${kindOf(hit)}` + (name && " " + JSON.stringify(name)) };
  }

  function focus(at) {
    const element = elements[at];
    if (!element || !isConnected(element)) return "is not there any more";
    show(element, { block: "nearest", behavior: "instant" });
    if (isHtml(element)) focusOn(element, { preventScroll: true });
    return null;
  }

  const announce = (element) => {
    element.dispatchEvent(new Event("input", { bubbles: true, composed: true }));
    element.dispatchEvent(new Event("change", { bubbles: true }));
  };

  // Makes a field ready for text: focused, with all of it selected. Fields that take no typing get their value here.
  function ready(at, text) {
    const element = elements[at];
    const problem = focus(at);
    if (problem) return { problem };
    if (element.disabled) return { problem: "is disabled" };
    if (element.readOnly) return { problem: "is read-only" };
    if (isHtml(element) && isEditable(element)) {
      ownerDocument(element).getSelection().selectAllChildren(element);
      return { type: true };
    }
    if (tagName(element) === "TEXTAREA" || (tagName(element) === "INPUT" && TYPED.has(element.type))) {
      element.select();
      return { type: true };
    }
    if (tagName(element) !== "INPUT" || ["checkbox", "radio", "submit", "button", "reset", "file", "image"].includes(element.type))
      return { problem: "takes no text" };
    const before = element.value;
    element.value = text;
    if (element.value !== text) {
      const took = element.value;
      element.value = before;
      return { problem: `is a field for a ${element.type}, which ${JSON.stringify(text)} is none of (it took ${JSON.stringify(took)})` };
    }
    announce(element);
    return { type: false };
  }

  function choose(at, wanted) {
    const element = elements[at];
    const problem = focus(at);
    if (problem) return problem;
    if (tagName(element) !== "SELECT") return "is no list to choose from";
    if (element.disabled) return "is disabled";
    const fits = (option, text) => tidy(option.label) === text || option.value === text;
    const options = Array.from(element.options);
    const missing = wanted.find((text) => !options.some((option) => fits(option, text) && !option.disabled));
    if (missing !== undefined) return "has no option " + JSON.stringify(missing);
    if (wanted.length > 1 && !element.multiple) return "takes one option";
    const chosen = wanted.map((text) => options.find((option) => fits(option, text) && !option.disabled));
    for (const option of options) option.selected = chosen.includes(option);
    announce(element);
    return null;
  }

  const isChecked = (at) => {
    const element = elements[at];
    if (!element) return null;
    if (typeof element.checked === "boolean") return element.checked;
    const says = attribute(element, "aria-checked");
    return says === null ? null : says === "true";
  };

  function scroll(dx, dy) {
    let element = document.elementFromPoint(innerWidth / 2, innerHeight / 2);
    const moves = (e) => {
      const [x, y] = [e.scrollLeft, e.scrollTop];
      e.scrollBy({ left: dx, top: dy, behavior: "instant" });
      return e.scrollLeft !== x || e.scrollTop !== y;
    };
    for (; element; element = parentOf(element)) if (moves(element)) return;
    moves(rootElement(document));
  }

  globalThis.cairn = { look, bring, point, focus, ready, choose, isChecked, scroll };
})();
