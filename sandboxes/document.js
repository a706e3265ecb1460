// Runs before all else in each document: clocks, frames and chance are ours, windows open for clicks only, nothing moves.
(() => {
  const RealDate = Date, shift = RealDate.now() - BEGINNING, now = () => RealDate.now() - shift;
  window.Date = new Proxy(RealDate, {
    construct: (date, given) => given.length ? new date(...given) : new date(now()),
    apply: () => new RealDate(now()).toString(),
    get: (date, name) => name === "now" ? now : Reflect.get(date, name),
  });
  const formats = Intl.DateTimeFormat.prototype, { format, formatToParts } = Object.getOwnPropertyDescriptors(formats);
  const formatted = { get() { return (date = now()) => format.get.call(this)(date) } };
  Object.defineProperty(formats, "format", formatted);
  formats.formatToParts = function (date = now()) { return formatToParts.value.call(this, date) };
  const modified = () => new RealDate(now()).toISOString().replace(/(.+)-(.+)-(.+)T(.+)\..+/, "$2/$3/$1 $4");
  if (RealDate.now() - RealDate.parse(document.lastModified) < 2000)  // no answer has said, so that it is now
    Object.defineProperty(document, "lastModified", { get: modified });
  Object.defineProperty(performance, "timeOrigin", { value: BEGINNING });
  performance.now = () => now() - BEGINNING;
  window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16);
  window.cancelAnimationFrame = n => clearTimeout(n);
  const open = window.open;
  window.open = (...given) => navigator.userActivation.isActive ? open.apply(window, given) : null;
  let state = SEED;
  const next = () => {
    state = (state + 0x6D2B79F5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  Math.random = next;
  crypto.getRandomValues = a => {
    for (let i = 0; i < a.length; i++) a[i] = Math.floor(next() * 4294967296);
    return a;
  };
  for (const type of ["mousemove", "pointermove"]) {
    let last;
    window.addEventListener(type, event => {  // a mouse that rests: only what comes to lie under it is to learn of it
      const at = `${event.screenX} ${event.screenY}`;
      if (event.isTrusted && at === last) event.stopImmediatePropagation();
      last = at;
    }, true);
  }
  document.addEventListener("DOMContentLoaded", () => {  // else with the first frame, when a step is over
    const first = document.querySelector("[autofocus]");
    if (first && document.activeElement === document.body) first.focus();
  });
  const sheet = new CSSStyleSheet();  // a document's own policy may forbid <style>
  sheet.replaceSync("*, *::before, *::after { animation: none !important; transition: none !important; " +
    "scroll-behavior: auto !important; caret-color: transparent !important }");
  document.adoptedStyleSheets.push(sheet);
})();
