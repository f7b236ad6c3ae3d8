with gone as (delete
  from tenant."orders" t
  where "t"."order_id" = $1::int4 and ((("t"."status" = $2::text)))
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'delete', 'orders', json_build_object('order_id', "gone"."order_id"), row_to_json("gone".*), null::json
  from "gone"
  where (not rowpost_tenant.is_captured('tenant."orders"'::regclass, 'delete') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select coalesce((select '{"order_id":' || '"' || coalesce("gone"."order_id", null::int4)::text || '"' || ',"status":' || to_json("gone"."status")::text || '}'
  from "gone"), case when not exists (select
  from tenant."orders" t
  where "t"."order_id" = $5::int4 and ((("t"."status" = $6::text))) and exists (select
  from pg_trigger g
  where g.tgrelid = t.tableoid and (g.tgtype & 11::int2) = 11)) then rowpost_tenant.refuse('notFound') end);
