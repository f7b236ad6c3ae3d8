with "written" as (insert into tenant."label" as t("label_id", "title")
  select $1::text as "label_id", $2::text as "title"
  on conflict do nothing
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $3::int4, 'insert', 'label', json_build_object('label_id', "written"."label_id"), null::json, row_to_json("written".*)
  from "written"
  where (not rowpost_tenant.is_captured('tenant."label"'::regclass, 'insert') or (select set_config('rowpost.roleid', $4::int4::text, true)) is null))
  select '{"title":' || to_json("written"."title")::text || '}'
  from "written";
