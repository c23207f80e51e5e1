// Resolves at the first change of the document, or after capMs.
(capMs) =>
  new Promise((resolve) => {
    const finish = () => {
      observer.disconnect();
      clearTimeout(cap);
      resolve();
    };
    const observer = new MutationObserver(finish);
    observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    const cap = setTimeout(finish, capMs);
  })
