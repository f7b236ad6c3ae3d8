export type GraphqlMediaType = 'application/json' | 'application/graphql-response+json';

const PLAIN = ['application/json', 'application/*', '*/*'];

/**
 * The media type of a response: the supported one that the Accept header prefers, the first of equals. graphql-http has
 * rejected headers without any by then.
 */
export function acceptedMediaType(accept: string | undefined): GraphqlMediaType {
  let preferred: GraphqlMediaType = 'application/json';
  if (accept === undefined || accept === '*/*') return preferred;
  let highest = 0;
  for (const item of accept.toLowerCase().split(',')) {
    const [name = '', ...parameters] = item.split(';').map((part) => part.trim());
    const mediaType = name === 'application/graphql-response+json' ? name : 'application/json';
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if ((mediaType !== name && !PLAIN.includes(name)) || !(quality > highest)) continue;
    preferred = mediaType;
    highest = quality;
  }
  return preferred;
}

/** Whether a browser requests a page. */
export function wantsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(^|[\s,])text\/html\b/i.test(accept);
}
