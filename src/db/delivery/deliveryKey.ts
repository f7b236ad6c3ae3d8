/** Identifies a delivery. `createtime` is PostgreSQL text, exact to the microsecond. */
export interface DeliveryKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
}

/** Keys as the first three parameters of a statement with `KEY_ARRAYS`. */
export function keyColumns(keys: readonly DeliveryKey[]): readonly [number[], string[], string[]] {
  return [
    keys.map((key) => key.tenantid),
    keys.map((key) => key.deliveryid),
    keys.map((key) => key.createtime),
  ];
}

/** SQL: the arguments of `unnest` for `keyColumns`. */
export const KEY_ARRAYS = '$1::int[], $2::bigint[], $3::timestamptz[]';

/** SQL: two rows are of the same delivery. */
export function sameDelivery(a: string, b: string): string {
  return `${a}.tenantid = ${b}.tenantid and ${a}.deliveryid = ${b}.deliveryid and ${a}.createtime = ${b}.createtime`;
}
