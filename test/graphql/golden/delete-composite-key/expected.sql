with gone as (delete
  from tenant."order_item" t
  where "t"."order_id" = $1::int4 and "t"."line" = $2::int4
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'delete', 'order_item', json_build_object('order_id', "gone"."order_id", 'line', "gone"."line"), row_to_json("gone".*), null::json
  from "gone"
  where (not rowpost_tenant.is_captured('tenant."order_item"'::regclass, 'delete') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select coalesce((select '{"product":' || to_json("gone"."product")::text || ',"orders":' || coalesce((select '{"status":' || to_json("f0"."status")::text || '}'
  from tenant."orders" "f0"
  where "f0"."order_id" = "gone"."order_id"), 'null') || '}'
  from "gone"), case when not exists (select
  from tenant."order_item" t
  where "t"."order_id" = $5::int4 and "t"."line" = $6::int4 and exists (select
  from pg_trigger g
  where g.tgrelid = t.tableoid and (g.tgtype & 11::int2) = 11)) then rowpost_tenant.refuse('notFound') end);
