/** Sends the values of the settings form to the preview while they are edited. */
const form = document.querySelector<HTMLFormElement>('#overlay-settings');
const preview = document.querySelector<HTMLIFrameElement>('#overlay-preview');

form?.addEventListener('input', () => {
  const fields = new FormData(form);
  const texts = ['position', 'accent', 'text', 'background', 'template', 'sound'].map((name) => [
    name,
    fields.get(name),
  ]);
  const numbers = ['seconds', 'volume'].map((name) => [name, Number(fields.get(name))]);
  const settings = Object.fromEntries([...texts, ...numbers]);
  if (settings.seconds >= 1 && settings.seconds <= 60 && settings.volume >= 0 && settings.volume <= 100)
    preview?.contentWindow?.postMessage(settings, location.origin);
});
