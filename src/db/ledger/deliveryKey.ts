/** Identifies a delivery. `createtime` is PostgreSQL text, exact to the microsecond. */
export interface DeliveryKey {
  readonly tenantid: number;
  readonly deliveryid: string;
  readonly createtime: string;
}

/** A delivery as the caller last read it. */
export interface KnownDelivery extends DeliveryKey {
  /** Number of its newest attempt: the fencing token for changes to the delivery. */
  readonly starts: number;
}

/** A delivery that a worker has. */
export interface HeldDelivery extends KnownDelivery {
  /** Whether attempt number `starts` is sending it: then email may have left. Otherwise it waits for the next one. */
  readonly sending: boolean;
}

/** Only these fields of what may have many more. */
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
