/** Identifies a delivery. `createtime` is PostgreSQL text, exact to the microsecond. */
export interface DeliveryKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
}

/** A delivery as somebody knows it. */
export interface KnownDelivery extends DeliveryKey {
  /** Number of its newest attempt: the fencing token for changes to the delivery. */
  readonly starts: number;
}

/** Leaves out whatever else is known. */
export const knownDelivery = ({
  tenantid,
  deliveryid,
  createtime,
  starts,
}: KnownDelivery): KnownDelivery => ({
  tenantid,
  deliveryid,
  createtime,
  starts,
});
