import type { ControlObject } from '../../control/derive/declaration.js';
import { numberOf, type Id, type Values } from './formValues.js';
import type { Visit } from './pageHandlers.js';
import { pageOf, ROWS_QUERIED } from './paging.js';

interface Rows<Row> {
  readonly rows: readonly Row[];
}
interface Saved {
  readonly row: { readonly id: Id };
}

/** What pages request about the rows of a control object, by its declaration. */
export class ObjectRequests<Row = Values> {
  readonly #list: string;
  readonly #ordering: readonly string[];
  readonly #create: string;
  readonly #update: string;
  readonly #delete: string;

  /** @param selection of a row, in GraphQL */
  constructor(object: ControlObject, selection: string, ordering: readonly string[]) {
    const { table, singular = table, key } = object;
    const id = key.join();
    this.#ordering = ordering;
    this.#list = `query ($filter: String, $ordering: [String], $limit: Int, $offset: Int) { rows: ${table}(
      filter: $filter, ordering: $ordering, limit: $limit, offset: $offset) { ${selection} } }`;
    this.#create = `mutation ($input: ${table}Input) { row: create_${singular}(input: $input) { id: ${id} } }`;
    this.#update = `mutation ($id: ID!, $input: ${table}Input) {
      row: update_${singular}(${id}: $id, input: $input) { id: ${id} } }`;
    this.#delete = `mutation ($id: ID!) { delete_${singular}(${id}: $id) { ${id} } }`;
  }

  /**
   * A page of the list at `path`.
   * @param given the query string
   * @param search what the links to other pages keep of it
   * @param ordering by default that of the object
   */
  async page(
    { query }: Visit,
    path: string,
    given: Values,
    {
      filter = '',
      search = {},
      ordering = this.#ordering,
    }: {
      readonly filter?: string;
      readonly search?: Record<string, string>;
      readonly ordering?: readonly string[];
    } = {},
  ): Promise<ReturnType<typeof pageOf<Row>>> {
    const offset = numberOf(given, 'from');
    const { rows } = await query<Rows<Row>>(this.#list, { filter, ordering, limit: ROWS_QUERIED, offset });
    return pageOf(rows, offset, path, search);
  }

  async find({ query }: Visit, filter: string): Promise<Row | undefined> {
    return (await query<Rows<Row>>(this.#list, { filter, ordering: this.#ordering, limit: 1 })).rows[0];
  }

  async create({ query }: Visit, input: Values): Promise<Id> {
    return (await query<Saved>(this.#create, { input })).row.id;
  }

  async update({ query }: Visit, id: string, input: Values): Promise<Id> {
    return (await query<Saved>(this.#update, { id, input })).row.id;
  }

  async remove({ query }: Visit, id: string): Promise<void> {
    await query(this.#delete, { id });
  }
}
