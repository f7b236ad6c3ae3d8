with gone as (delete
  from tenant."order_item" t
  where "t"."order_id" = $1::int4 and "t"."line" = $2::int4
  returning t.*)
  select coalesce((select case when rowpost_tenant.capture_change($3::int4, 'delete', 'order_item', json_build_object('order_id', "gone"."order_id", 'line', "gone"."line"), row_to_json("gone"), null) > 0 then '{"product":' || to_json("gone"."product")::text || ',"orders":' || coalesce((select '{"status":' || to_json("f0"."status")::text || '}'
  from tenant."orders" "f0"
  where "f0"."order_id" = "gone"."order_id"), 'null') || '}' end
  from "gone"), current_setting('rowpost.not_found'));
