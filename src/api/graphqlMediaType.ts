export type GraphqlMediaType = 'application/json' | 'application/graphql-response+json';

const PLAIN = ['application/json', 'application/*', '*/*'];

/** The media type of a response: the first supported one of the Accept header. graphql-http has rejected the rest by then. */
export function acceptedMediaType(accept: string | undefined): GraphqlMediaType {
  if (accept === undefined || accept === '*/*') return 'application/json';
  for (const item of accept.toLowerCase().split(',')) {
    const mediaType = item.split(';', 1)[0]?.trim() ?? '';
    if (mediaType === 'application/graphql-response+json') return mediaType;
    if (PLAIN.includes(mediaType)) return 'application/json';
  }
  return 'application/json';
}

/** Whether a browser requests a page. */
export function wantsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /(^|[\s,])text\/html\b/i.test(accept);
}
