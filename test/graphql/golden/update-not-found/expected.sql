with prior as materialized (select t.*
  from tenant."customer" t
  where "t"."customer_id" = $1::int4 for no key update of t), changed as (update tenant."customer" t set "country" = $2::text
  from prior
  where "t"."customer_id" = "prior"."customer_id"
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'update', 'customer', json_build_object('customer_id', "changed"."customer_id"), row_to_json("prior".*), row_to_json("changed".*)
  from prior
  cross join changed
  where (not rowpost_tenant.is_captured('tenant."customer"'::regclass, 'update') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select coalesce((select '{"name":' || to_json("changed"."name")::text || '}'
  from prior
  cross join changed), case when not exists (select
  from prior) then rowpost_tenant.refuse('notFound') end);
