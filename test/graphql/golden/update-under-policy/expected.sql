with prior as materialized (select t.*
  from tenant."orders" t
  where "t"."order_id" = $1::int4 and ((("t"."total" < $2::numeric))) for no key update of t), changed as (update tenant."orders" t set "total" = $3::"numeric"
  from prior
  where "t"."order_id" = "prior"."order_id"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $4::int4, 'update', 'orders', json_build_object('order_id', "changed"."order_id"), row_to_json("prior".*), row_to_json("changed".*)
  from prior
  cross join changed
  where (not rowpost_tenant.is_captured('tenant."orders"'::regclass, 'update') or (select set_config('rowpost.roleid', $5::int4::text, true)) is null))
  select coalesce((select case when ((("changed"."total" < $6::numeric))) then case when ((("changed"."total" < $7::numeric))) then '{"total":' || coalesce(to_json("changed"."total")::text, 'null') || '}' else 'null' end else rowpost_tenant.refuse('policyDenied') end
  from prior
  cross join changed), case when not exists (select
  from prior) then rowpost_tenant.refuse('notFound') end);
