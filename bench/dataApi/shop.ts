/** What every contender is asked for, on the tables of bench/support/shop.ts. */
export const LIST_SIZE = 50;

/** Stands for the key in a recorded statement. */
export const KEY_PLACEHOLDER = 424_242;

export const NEW_ITEM = { order_id: 1, product: 'Letter paper, laid', quantity: 2, price: 14.5 } as const;

/** An order as all contenders can show it: keys and numbers as text, without trailing zeros. */
export interface PlainOrder {
  readonly order_id: string;
  readonly status: string;
  readonly total: string;
  readonly items?: readonly { readonly product: string; readonly quantity: string }[];
}

export interface AnsweredOrder {
  readonly order_id: string | number;
  readonly status: string;
  readonly total: string | number;
  readonly items?: readonly { readonly product: string; readonly quantity: string | number }[];
}

export function plain({ order_id, status, total, items }: AnsweredOrder): PlainOrder {
  const shown = { order_id: String(order_id), status, total: String(Number(total)) };
  if (!items) return shown;
  return {
    ...shown,
    items: items.map(({ product, quantity }) => ({ product, quantity: String(quantity) })),
  };
}
