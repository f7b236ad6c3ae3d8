// A button that copies a text to send it. Without this script people copy it by hand.
for (const field of document.querySelectorAll('input[data-copy]')) {
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Copy';
  button.addEventListener('click', async () => {
    field.select();
    // Without https there is no clipboard.
    if (navigator.clipboard) await navigator.clipboard.writeText(field.value);
    else document.execCommand('copy');
    button.textContent = 'Copied';
  });
  field.after(button);
  field.addEventListener('focus', () => field.select());
}
