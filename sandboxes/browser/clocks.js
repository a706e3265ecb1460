// Runs before all else in each document: every clock begins at one moment, and goes by time as steps give it.
(() => {
  // Chromium's own clocks waver by up to 5 us: rounded, this one goes by whole milliseconds, as timers do.
  const RealDate = Date, clock = performance.now.bind(performance), late = clock();
  const now = () => BEGINNING + Math.round(clock() - late);
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
  const RealFile = File;
  window.File = new Proxy(RealFile, {
    construct: (file, given, made) => Reflect.construct(
      file, given.length < 2 ? given : [given[0], given[1], { lastModified: now(), ...given[2] }], made),
  });
  if (window.Temporal) {
    const instant = () => Temporal.Instant.fromEpochMilliseconds(now());
    const at = (zone = Temporal.Now.timeZoneId()) => instant().toZonedDateTimeISO(zone);
    Object.assign(Temporal.Now, {
      instant, zonedDateTimeISO: at, plainDateTimeISO: zone => at(zone).toPlainDateTime(),
      plainDateISO: zone => at(zone).toPlainDate(), plainTimeISO: zone => at(zone).toPlainTime(),
    });
  }
  performance.now = () => now() - BEGINNING;
  Object.defineProperty(performance, "timeOrigin", { value: BEGINNING });
  const moments = Object.keys(PerformanceTiming.prototype).filter(name => name !== "toJSON");
  const timing = Object.fromEntries(moments.map(name => [name, BEGINNING]));
  Object.defineProperty(performance, "timing", { value: timing });
  performance.toJSON = () => ({ timeOrigin: BEGINNING, timing });
  const read = (kind, name, value) => {  // `value`: of what is read and what Chromium says of it
    const { get } = Object.getOwnPropertyDescriptor(kind.prototype, name);
    Object.defineProperty(kind.prototype, name, { get() { return value(this, get.call(this)) } });
  };
  const isOwn = entry => entry.entryType === "mark" || entry.entryType === "measure";  // others are the machine's
  read(PerformanceEntry, "startTime", (entry, time) => isOwn(entry) ? Math.round(time - late) : 0);
  read(PerformanceEntry, "duration", (entry, time) => isOwn(entry) ? Math.round(time) : 0);
  for (const kind of [PerformanceEntry, PerformanceResourceTiming, PerformanceNavigationTiming]) {
    for (const name of Object.keys(kind.prototype))
      if (/(Start|End|Interactive|Complete)$/.test(name)) read(kind, name, () => 0);
    kind.prototype.toJSON = function () {
      const all = {};
      for (const name in this) if (typeof this[name] !== "function") all[name] = this[name];
      return all;
    };
  }
  const moment = new WeakMap(), first = it => moment.get(it) ?? (moment.set(it, performance.now()), moment.get(it));
  read(Event, "timeStamp", first);
  read(IntersectionObserverEntry, "time", first);
  read(AnimationTimeline, "currentTime", (line, time) => line instanceof DocumentTimeline ? performance.now() : time);
  window.requestAnimationFrame = f => setTimeout(() => f(performance.now()), 16);
  window.cancelAnimationFrame = n => clearTimeout(n);
  window.requestIdleCallback = f => setTimeout(() => f({ didTimeout: false, timeRemaining: () => 10 }), 1);
  window.cancelIdleCallback = n => clearTimeout(n);
})();
