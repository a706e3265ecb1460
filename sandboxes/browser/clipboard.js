// A clipboard for each page: the browser has one for all, which is left empty. Runs in a world that documents do not see.
// What a person copies, cuts or pastes is told to the document as an event of ours, and what comes of it is kept by us.
(() => {
  if (globalThis.cairnClipboard) return;
  let state = { copied: null, pasting: [] };
  try {
    state = top.cairnClipboard.state; // of the document that this one is a frame of
  } catch {} // it is in no frame, or in one of another site, whose clipboard nobody asks for

  const again = (type, text) => {
    const clipboardData = new DataTransfer();
    if (text) clipboardData.setData("text/plain", text);
    return new ClipboardEvent(type, { clipboardData, bubbles: true, cancelable: true, composed: true });
  };
  const selected = (it) => {
    if (it instanceof HTMLInputElement || it instanceof HTMLTextAreaElement)
      return it.type === "password" ? "" : it.value.slice(it.selectionStart, it.selectionEnd);
    return String(getSelection());
  };

  function take(event) {
    if (!event.isTrusted) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    if (event.type === "paste") return void state.pasting.push(event.target);
    const told = again(event.type, ""), goesOn = event.target.dispatchEvent(told);
    const text = goesOn ? selected(event.target) : told.clipboardData.getData("text/plain");
    if (!text) return;
    state.copied = text;
    if (goesOn && event.type === "cut") document.execCommand("delete");
  }
  for (const type of ["copy", "cut", "paste"]) addEventListener(type, take, true);

  // What was copied since the last time, and whether something wants to be pasted; lays the document out.
  function news() {
    const root = Object.getOwnPropertyDescriptor(Document.prototype, "documentElement").get.call(document);
    if (root) Element.prototype.getBoundingClientRect.call(root);
    const { copied, pasting } = state;
    state.copied = null;
    return [copied, pasting.length > 0];
  }

  function paste(text) {
    for (const target of state.pasting.splice(0))
      if (target.dispatchEvent(again("paste", text)) && text)
        (target.ownerDocument || target).execCommand("insertText", false, text);
  }

  globalThis.cairnClipboard = { state, news, paste };
})();
