with prior as materialized (select t.*
  from tenant."order_item" t
  where "t"."order_id" = $1::int4 and "t"."line" = $2::int4 for no key update of t), changed as (update tenant."order_item" t set "quantity" = $3::int4
  from prior
  where "t"."order_id" = "prior"."order_id" and "t"."line" = "prior"."line"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $4::int4, 'update', 'order_item', json_build_object('order_id', "changed"."order_id", 'line', "changed"."line"), row_to_json("prior".*), row_to_json("changed".*)
  from prior
  cross join changed
  where (not rowpost_tenant.is_captured('tenant."order_item"'::regclass, 'update') or (select set_config('rowpost.roleid', $5::int4::text, true)) is null))
  select coalesce((select '{"product":' || to_json("changed"."product")::text || ',"quantity":' || coalesce("changed"."quantity", null::int4)::text || '}'
  from prior
  cross join changed), case when not exists (select
  from prior) then rowpost_tenant.refuse('notFound') end);
