with "written_0" as (insert into tenant."label" as t("label_id", "title")
  select "r"."label_id" as "label_id", "r"."title" as "title"
  from json_to_recordset($1::json) as "r"("label_id" text, "title" text)
  returning t.*), recorded as (insert into rowpost_tenant.event (roleid, operation, target, key, old, new)
  select $2::int4, 'insert', 'label', json_build_object('label_id', "written_0"."label_id"), null::json, row_to_json("written_0".*)
  from "written_0"
  where (not rowpost_tenant.is_captured('tenant."label"'::regclass, 'insert') or (select set_config('rowpost.roleid', $3::int4::text, true)) is null))
  select '[' || coalesce(string_agg(w.j, ','), '') || ']'
  from (select '{"label_id":' || to_json("written_0"."label_id")::text || '}' as j
  from "written_0") w;
