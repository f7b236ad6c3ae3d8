/**
 * The names of an email type's variants for a locale, most specific first: `welcome_pt_BR`, `welcome_pt`.
 * @param locale in Intl's notation: `zh-Hant-TW`
 */
export function variantNames(emailType: string, locale: string): readonly string[] {
  // Extensions, as in `de-u-nu-latn`, only affect formats.
  const parts = locale.split('-u-')[0]?.split('-') ?? [];
  return parts.map((_, index) => [emailType, ...parts.slice(0, parts.length - index)].join('_'));
}
