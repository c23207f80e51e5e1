// Resolves when the document was not changed for quietMs, or after capMs. Runs in an isolated world of ours.
// A node changed more than 6 times since the document began (a clock, a carousel) no longer counts.
(quietMs, capMs) => {
  const changes = (globalThis.elcanoChanges ??= new WeakMap());
  const counts = (node) => {
    const number = (changes.get(node) ?? 0) + 1;
    changes.set(node, number);
    return number <= 6;
  };
  return new Promise((resolve) => {
    let quiet;
    const finish = () => {
      observer.disconnect();
      clearTimeout(quiet);
      clearTimeout(cap);
      resolve();
    };
    const restart = () => {
      clearTimeout(quiet);
      quiet = setTimeout(finish, quietMs);
    };
    const observer = new MutationObserver((records) => {
      const nodes = new Set(records.map((record) => record.target));
      if ([...nodes].filter(counts).length > 0) restart();
    });
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const cap = setTimeout(finish, capMs);
    restart();
  });
}
