// The price of what stands in the editor, a moment after the last key; the page works without this file.
(() => {
  const form = document.getElementById("editor");
  const panel = document.getElementById("price");
  if (!form || !panel) return;
  const statement = form.elements.statement;
  let timer, request, last = new URLSearchParams(new FormData(form)).toString();

  async function look() {
    const body = new URLSearchParams(new FormData(form));
    if (body.toString() === last) return;
    last = body.toString();
    request?.abort();
    request = new AbortController();
    try {
      const answer = await fetch("/draft", { method: "POST", body, signal: request.signal });
      if (answer.redirected) location.assign(answer.url);
      else if (answer.status === 200) panel.innerHTML = await answer.text();
    } catch (error) {
      if (error.name !== "AbortError") panel.textContent = "The page does not answer.";
    }
  }

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(look, 400);
  });
  statement.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit(document.getElementById("run"));
    }
  });
})();
