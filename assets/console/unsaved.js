// Asks before the page is left while a form that says so has changes that are not saved.
const form = document.querySelector('form[data-unsaved]');
// What was typed before this script ran, or was restored by the browser, is unsaved as well.
let isUnsaved = form !== null && (form.dataset.unsaved === 'yes' || [...form.elements].some(isChanged));

form?.addEventListener('input', () => (isUnsaved = true));
// A preview opens beside the form, and saves nothing.
form?.addEventListener('submit', ({ submitter, defaultPrevented }) => {
  if (!defaultPrevented && !submitter?.formTarget) isUnsaved = false;
});
addEventListener('beforeunload', (event) => {
  if (isUnsaved) event.preventDefault();
});

function isChanged({ type, value, defaultValue, checked, defaultChecked }) {
  if (type === 'checkbox' || type === 'radio') return checked !== defaultChecked;
  return defaultValue !== undefined && value !== defaultValue;
}
