SET check_function_bodies = false;
SELECT pg_catalog.set_config('search_path', '', false);
CREATE COLLATION public.name_order (provider = icu, locale = 'und');
CREATE FUNCTION public.add_collection_usage(owner bigint, more bigint, bytes bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
    DECLARE
      used collection_usage;
      most usage_limits;
    BEGIN
      UPDATE collection_usage SET collections = collections + more
        WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
      SELECT * INTO most FROM usage_limits;
      IF more > 0 AND used.collections > most.max_collections THEN
        PERFORM refuse_usage('collections', most.max_collections, used.collections - more);
      END IF;
    END $$;
CREATE FUNCTION public.add_route_usage(owner bigint, more bigint, bytes bigint, live bigint DEFAULT 0, metres numeric DEFAULT 0) RETURNS void
    LANGUAGE plpgsql
    AS $$
    DECLARE
      used route_usage;
      most usage_limits;
    BEGIN
      UPDATE route_usage SET routes = routes + more, stored_bytes = stored_bytes + bytes,
          live_routes = live_routes + live, live_distance = live_distance + metres
        WHERE user_id = owner AND EXISTS (SELECT FROM users WHERE id = owner) RETURNING * INTO used;
      IF more > 0 OR bytes > 0 THEN
        SELECT * INTO most FROM usage_limits;
        IF more > 0 AND used.routes > most.max_routes THEN
          PERFORM refuse_usage('routes', most.max_routes, used.routes - more);
        END IF;
        IF bytes > 0 AND used.stored_bytes > most.max_stored_bytes THEN
          PERFORM refuse_usage('storedBytes', most.max_stored_bytes, used.stored_bytes - bytes);
        END IF;
      END IF;
    END $$;
CREATE FUNCTION public.add_route_words() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      INSERT INTO route_words (route_id, words) SELECT id, route_lexemes(user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at) FROM added;
      RETURN NULL;
    END $$;
CREATE FUNCTION public.announce_changes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      PERFORM pg_notify('account_changes', user_id::text) FROM (SELECT DISTINCT user_id FROM added) accounts;
      RETURN NULL;
    END $$;
CREATE FUNCTION public.begin_usage() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      INSERT INTO route_usage (user_id) SELECT id FROM added;
      INSERT INTO collection_usage (user_id) SELECT id FROM added;
      RETURN NULL;
    END $$;
CREATE FUNCTION public.change_route_words() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      INSERT INTO route_words (route_id, words) VALUES (NEW.id, route_lexemes(NEW.user_id, NEW.name, NEW.description, NEW.tags, NEW.waypoints, NEW.place_city, NEW.place_region, NEW.visibility, NEW.deleted_at))
      ON CONFLICT (route_id) DO UPDATE SET words = excluded.words;
      RETURN NULL;
    END $$;
CREATE FUNCTION public.count_collections_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_collection_usage(user_id, amount, 0) FROM (
          SELECT user_id, sum(amount) AS amount FROM (SELECT user_id, -1 * (deleted_at IS NULL)::int AS amount FROM removed) changes
          GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.count_collections_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_collection_usage(user_id, amount, 0) FROM (
          SELECT user_id, sum(amount) AS amount FROM (SELECT user_id, 1 * (deleted_at IS NULL)::int AS amount FROM added) changes
          GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.count_collections_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_collection_usage(user_id, amount, 0) FROM (
          SELECT user_id, sum(amount) AS amount FROM (SELECT user_id, 1 * (deleted_at IS NULL)::int AS amount FROM added UNION ALL SELECT user_id, -1 * (deleted_at IS NULL)::int AS amount FROM removed) changes
          GROUP BY user_id HAVING sum(amount) <> 0 ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.count_idempotency_keys_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
          PERFORM add_route_usage(user_id, amount, bytes) FROM (
            SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes
            FROM (SELECT user_id, -1 * 0 AS amount, -1 * (response_bytes(body, headers)) AS bytes FROM removed) changes
            GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 ORDER BY user_id
          ) totals;
          RETURN NULL;
        END $$;
CREATE FUNCTION public.count_idempotency_keys_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
          PERFORM add_route_usage(user_id, amount, bytes) FROM (
            SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes
            FROM (SELECT user_id, 1 * 0 AS amount, 1 * (response_bytes(body, headers)) AS bytes FROM added) changes
            GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 ORDER BY user_id
          ) totals;
          RETURN NULL;
        END $$;
CREATE FUNCTION public.count_idempotency_keys_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        BEGIN
          PERFORM add_route_usage(user_id, amount, bytes) FROM (
            SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes
            FROM (SELECT user_id, 1 * 0 AS amount, 1 * (response_bytes(body, headers)) AS bytes FROM added UNION ALL SELECT user_id, -1 * 0 AS amount, -1 * (response_bytes(body, headers)) AS bytes FROM removed) changes
            GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 ORDER BY user_id
          ) totals;
          RETURN NULL;
        END $$;
CREATE FUNCTION public.count_routes_on_delete() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_route_usage(user_id, amount, bytes, live, metres) FROM (
          SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes, sum(live) AS live, sum(metres) AS metres
          FROM (SELECT user_id, -1 AS amount, -1 * (route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)) AS bytes, -1 * (deleted_at IS NULL)::int AS live,
        -1 * CASE WHEN (deleted_at IS NULL) AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END AS metres FROM removed) changes
          GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 OR sum(live) <> 0 OR sum(metres) <> 0
          ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.count_routes_on_insert() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_route_usage(user_id, amount, bytes, live, metres) FROM (
          SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes, sum(live) AS live, sum(metres) AS metres
          FROM (SELECT user_id, 1 AS amount, 1 * (route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)) AS bytes, 1 * (deleted_at IS NULL)::int AS live,
        1 * CASE WHEN (deleted_at IS NULL) AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END AS metres FROM added) changes
          GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 OR sum(live) <> 0 OR sum(metres) <> 0
          ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.count_routes_on_update() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
      BEGIN
        PERFORM add_route_usage(user_id, amount, bytes, live, metres) FROM (
          SELECT user_id, sum(amount) AS amount, sum(bytes) AS bytes, sum(live) AS live, sum(metres) AS metres
          FROM (SELECT user_id, 1 AS amount, 1 * (route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)) AS bytes, 1 * (deleted_at IS NULL)::int AS live,
        1 * CASE WHEN (deleted_at IS NULL) AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END AS metres FROM added UNION ALL SELECT user_id, -1 AS amount, -1 * (route_bytes(waypoints, geometry, simplified, polyline6, description) + coalesce(octet_length(cues), 0)) AS bytes, -1 * (deleted_at IS NULL)::int AS live,
        -1 * CASE WHEN (deleted_at IS NULL) AND distance IS NOT NULL THEN greatest(0, least(distance, 1e8))::numeric ELSE 0 END AS metres FROM removed) changes
          GROUP BY user_id HAVING sum(amount) <> 0 OR sum(bytes) <> 0 OR sum(live) <> 0 OR sum(metres) <> 0
          ORDER BY user_id
        ) totals;
        RETURN NULL;
      END $$;
CREATE FUNCTION public.forget_changes_of_user() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      DELETE FROM pending_changes WHERE user_id = old.id;
      RETURN NULL;
    END $$;
CREATE FUNCTION public.record_delete_of_collections() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'collection', n.id, n.version, false FROM removed n WHERE EXISTS (SELECT FROM users u WHERE u.id = n.user_id); RETURN NULL; END $$;
CREATE FUNCTION public.record_delete_of_routes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'route', n.id, n.version, n.deleted_at IS NULL FROM removed n WHERE EXISTS (SELECT FROM users u WHERE u.id = n.user_id); RETURN NULL; END $$;
CREATE FUNCTION public.record_insert_of_collections() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'collection', n.id, n.version, false FROM added n; RETURN NULL; END $$;
CREATE FUNCTION public.record_insert_of_routes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'route', n.id, n.version, false FROM added n; RETURN NULL; END $$;
CREATE FUNCTION public.record_update_of_collections() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'collection', n.id, n.version, false FROM added n JOIN removed o ON o.id = n.id WHERE (n.version, n.deleted_at) IS DISTINCT FROM (o.version, o.deleted_at);
        PERFORM relist_for_others(n.user_id, array_agg(n.id)) FROM added n JOIN removed o ON o.id = n.id
        WHERE false GROUP BY n.user_id; RETURN NULL; END $$;
CREATE FUNCTION public.record_update_of_routes() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN 
        INSERT INTO pending_changes (user_id, type, id, version, is_listing)
        SELECT n.user_id, 'route', n.id, n.version, (n.deleted_at IS NULL) <> (o.deleted_at IS NULL)
      OR (n.visibility = 'private') <> (o.visibility = 'private') FROM added n JOIN removed o ON o.id = n.id WHERE (n.version, n.deleted_at, n.place_city, n.place_region, n.place_country_code) IS DISTINCT FROM (o.version, o.deleted_at, o.place_city, o.place_region, o.place_country_code);
        PERFORM relist_for_others(n.user_id, array_agg(n.id)) FROM added n JOIN removed o ON o.id = n.id
        WHERE (n.deleted_at IS NULL) <> (o.deleted_at IS NULL)
      OR (n.visibility = 'private') <> (o.visibility = 'private') GROUP BY n.user_id; RETURN NULL; END $$;
CREATE FUNCTION public.refuse_usage(quota text, most bigint, used bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
    BEGIN
      RAISE EXCEPTION 'over the quota of an account' USING ERRCODE = 'check_violation', CONSTRAINT = 'usage_limits',
        DETAIL = json_build_object('quota', quota, 'limit', most, 'used', used)::text;
    END $$;
CREATE FUNCTION public.relist_for_others(owner bigint, route_ids bigint[]) RETURNS void
    LANGUAGE sql
    AS $$
      INSERT INTO pending_changes (user_id, type, id, version, is_listing)
      SELECT DISTINCT c.user_id, 'collection', c.id, c.version, false
      FROM collection_routes m JOIN collections c ON c.id = m.collection_id
      WHERE m.route_id = ANY(route_ids) AND c.user_id <> owner AND c.deleted_at IS NULL
    $$;
CREATE FUNCTION public.relist_routes_of_user() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
    BEGIN
      PERFORM relist_for_others(new.id, (SELECT array_agg(r.id) FROM routes r WHERE r.user_id = new.id));
      RETURN NULL;
    END $$;
CREATE FUNCTION public.response_bytes(body text, headers text) RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN (COALESCE(octet_length(body), 0) + COALESCE(octet_length(headers), 0));
CREATE FUNCTION public.route_bytes(waypoints text, geometry text, simplified text, polyline6 text, description text) RETURNS integer
    LANGUAGE sql IMMUTABLE
    RETURN ((((octet_length(waypoints) + COALESCE(octet_length(geometry), 0)) + COALESCE(octet_length(simplified), 0)) + COALESCE(octet_length(polyline6), 0)) + COALESCE(octet_length(description), 0));
CREATE FUNCTION public.route_lexemes(owner bigint, name text, description text, tags text[], waypoints text, place_city text, place_region text, visibility text, deleted_at timestamp with time zone) RETURNS tsvector
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
    DECLARE
      texts text[] := ARRAY[name, array_to_string(tags, ' '),
        concat_ws(' ', place_city, place_region,
          CASE WHEN strpos(waypoints, '"name"') > 0 THEN waypoint_names(waypoints) END),
        description];
      weights text[] := '{:1A,:1B,:1C,:1D}';
      words text;
      lexemes text := '';
    BEGIN
      FOR n IN 1..4 LOOP
        words := search_words(texts[n]);
        CONTINUE WHEN coalesce(words, '') = '';
        lexemes := lexemes || ' ' || owner || '/' || replace(words, ' ', weights[n] || ' ' || owner || '/') || weights[n];
        IF visibility = 'public' AND deleted_at IS NULL THEN
          lexemes := lexemes || ' /' || replace(words, ' ', weights[n] || ' /') || weights[n];
        END IF;
      END LOOP;
      RETURN lexemes::tsvector;
    END $$;
CREATE FUNCTION public.search_words(content text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
    DECLARE
      words text;
    BEGIN
      IF octet_length(content) = char_length(content) THEN
        words := regexp_replace(lower(content COLLATE "C"), '[^a-z0-9]+', ' ', 'g');
      ELSE
        words := lower(regexp_replace(normalize(content, NFKD), '[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u1ab0-\u1aff\u1dc0-\u1dff\u200d\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f]+', '', 'g') COLLATE pg_catalog."und-x-icu");
        words := replace(replace(replace(replace(words, 'ß', 'ss'), 'æ', 'ae'), 'œ', 'oe'), 'þ', 'th');
        words := translate(words, 'øłđðħŧıς', 'olddhtiσ');
        words := regexp_replace(words, '([\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff\u2600-\u27bf\U0001f000-\U0001faff])', ' \1 ', 'g');
        words := regexp_replace(words COLLATE pg_catalog."und-x-icu", '[^[:alnum:]\u2600-\u27bf\U0001f000-\U0001faff]+', ' ', 'g');
      END IF;
      IF char_length(words) > 64 THEN
        words := regexp_replace(words, '(\S{64})\S+', '\1', 'g');
      END IF;
      RETURN btrim(words);
    END $$;
CREATE FUNCTION public.search_query(scope text, content text, operator text) RETURNS tsquery
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT (COALESCE(string_agg((((''''::text || search_query.scope) || words.word) || ''':*'::text), search_query.operator), ''::text))::tsquery AS "coalesce" FROM (SELECT DISTINCT word.word FROM string_to_table(public.search_words(search_query.content), ' '::text) word(word) WHERE (word.word <> ''::text)) words);
CREATE FUNCTION public.search_vector(content text) RETURNS tsvector
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN array_to_tsvector(array_remove(string_to_array(public.search_words(content), ' '::text), ''::text));
CREATE FUNCTION public.waypoint_names(waypoints text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$
    BEGIN
      RETURN (
        SELECT left(string_agg(waypoint ->> 'name', ' '), 20000)
        FROM json_array_elements(waypoints::json) AS waypoint
      );
    EXCEPTION WHEN data_exception THEN
      RETURN NULL;
    END $$;
CREATE TABLE public.audit_events (
    id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    event text NOT NULL,
    user_id bigint,
    subject_id bigint,
    trace_id text
);
ALTER TABLE public.audit_events ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.change_counters (
    user_id bigint NOT NULL,
    last bigint DEFAULT 0 NOT NULL,
    complete_from bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.change_epochs (
    id boolean DEFAULT true NOT NULL,
    epoch uuid DEFAULT gen_random_uuid() NOT NULL,
    CONSTRAINT change_epochs_id_check CHECK (id)
);
CREATE TABLE public.changes (
    user_id bigint NOT NULL,
    type text NOT NULL,
    id bigint NOT NULL,
    number bigint NOT NULL,
    version bigint NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT changes_type_check CHECK ((type = ANY (ARRAY['route'::text, 'collection'::text])))
);
CREATE TABLE public.collection_routes (
    collection_id bigint NOT NULL,
    route_id bigint NOT NULL,
    "position" integer NOT NULL
);
CREATE TABLE public.collection_usage (
    user_id bigint NOT NULL,
    collections bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.collections (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    description text,
    visibility text NOT NULL,
    share_token text NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    imported_from text,
    CONSTRAINT collections_description_check CHECK ((char_length(description) <= 255)),
    CONSTRAINT collections_imported_from_check CHECK ((imported_from ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT collections_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT collections_share_token_check CHECK ((share_token ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT collections_visibility_check CHECK ((visibility = ANY (ARRAY['private'::text, 'unlisted'::text, 'public'::text])))
);
ALTER TABLE public.collections ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.collections_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.effect_sql_migrations (
    migration_id integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    name text NOT NULL
);
CREATE TABLE public.email_tokens (
    token_hash text NOT NULL,
    user_id bigint,
    purpose text NOT NULL,
    password_hash text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    sign_up_id bigint,
    CONSTRAINT email_tokens_owner_check CHECK ((num_nonnulls(user_id, sign_up_id) = 1)),
    CONSTRAINT email_tokens_purpose_check CHECK ((purpose = ANY (ARRAY['verify-email'::text, 'reset-password'::text])))
);
CREATE TABLE public.idempotency_keys (
    user_id bigint NOT NULL,
    endpoint text NOT NULL,
    key text NOT NULL,
    request_hash text NOT NULL,
    status integer,
    body text,
    headers text,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.identities (
    issuer text NOT NULL,
    subject text NOT NULL,
    user_id bigint NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE public.mail_quotas (
    recipient text NOT NULL,
    sent_at timestamp with time zone[] NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    sent_from text[] DEFAULT '{}'::text[] NOT NULL
);
CREATE TABLE public.outbox (
    id bigint NOT NULL,
    payload text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_attempt_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    user_id bigint,
    counted_at timestamp with time zone,
    idempotency_key uuid DEFAULT gen_random_uuid() NOT NULL
);
ALTER TABLE public.outbox ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.outbox_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.pending_changes (
    "position" bigint NOT NULL,
    user_id bigint NOT NULL,
    type text NOT NULL,
    id bigint NOT NULL,
    version bigint NOT NULL,
    is_listing boolean NOT NULL
);
ALTER TABLE public.pending_changes ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.pending_changes_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.personal_access_tokens (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    scope text NOT NULL,
    token_hash text NOT NULL,
    hint text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    last_used_at timestamp with time zone,
    expiry_mailed_at timestamp with time zone,
    CONSTRAINT personal_access_tokens_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT personal_access_tokens_scope_check CHECK ((scope = ANY (ARRAY['read'::text, 'write'::text])))
);
ALTER TABLE public.personal_access_tokens ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.personal_access_tokens_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.privacy_zones (
    user_id bigint NOT NULL,
    "position" smallint NOT NULL,
    lng double precision NOT NULL,
    lat double precision NOT NULL,
    radius double precision NOT NULL,
    label text,
    cut_lng double precision NOT NULL,
    cut_lat double precision NOT NULL,
    cut_radius double precision NOT NULL
);
CREATE TABLE public.revoked_tokens (
    token_hash text NOT NULL,
    user_id bigint NOT NULL,
    revoked_at timestamp with time zone NOT NULL
);
CREATE TABLE public.route_usage (
    user_id bigint NOT NULL,
    routes bigint DEFAULT 0 NOT NULL,
    stored_bytes bigint DEFAULT 0 NOT NULL,
    live_routes bigint DEFAULT 0 NOT NULL,
    live_distance numeric DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');
CREATE TABLE public.route_views (
    route_id bigint NOT NULL,
    route_version bigint NOT NULL,
    zones_revision bigint NOT NULL,
    place_version smallint NOT NULL,
    is_whole boolean NOT NULL,
    geometry text,
    simplified text,
    polyline6 text,
    bounds box,
    waypoints text,
    cues text,
    start_address text,
    end_address text,
    place_city text,
    words tsvector,
    cut_version smallint DEFAULT 0 NOT NULL,
    position_count integer DEFAULT 0 NOT NULL,
    distance double precision,
    duration double precision,
    elevation_gain double precision,
    is_indexable boolean GENERATED ALWAYS AS (((position_count >= 20) AND (COALESCE(distance, (0)::double precision) >= (500)::double precision))) STORED
);
CREATE TABLE public.route_words (
    route_id bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE TABLE public.route_words_due (
    id boolean DEFAULT true NOT NULL,
    user_id bigint DEFAULT 0 NOT NULL,
    route_id bigint DEFAULT 0 NOT NULL,
    CONSTRAINT route_words_due_id_check CHECK (id)
);
CREATE TABLE public.routes (
    id bigint NOT NULL,
    user_id bigint NOT NULL,
    name text NOT NULL,
    description text,
    activity text,
    visibility text NOT NULL,
    tags text[] NOT NULL,
    favourite boolean NOT NULL,
    waypoints text NOT NULL,
    geometry text,
    distance double precision,
    duration double precision,
    elevation_gain double precision,
    start_address text,
    end_address text,
    place_city text,
    place_region text,
    place_country_code text,
    routing_preferences text,
    provenance text NOT NULL,
    share_token text NOT NULL,
    published_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    deleted_at timestamp with time zone,
    simplified text,
    polyline6 text,
    bounds box,
    position_count integer DEFAULT 0 NOT NULL,
    version bigint DEFAULT 1 NOT NULL,
    is_indexable boolean GENERATED ALWAYS AS (((position_count >= 20) AND (COALESCE(distance, (0)::double precision) >= (500)::double precision) AND (place_country_code IS NOT NULL) AND (char_length(name) >= 3))) STORED,
    imported_from text,
    place_version smallint DEFAULT 0 NOT NULL,
    cues text,
    CONSTRAINT routes_activity_check CHECK ((activity = ANY (ARRAY['run'::text, 'cycle'::text, 'walk'::text]))),
    CONSTRAINT routes_description_check CHECK ((char_length(description) <= 10000)),
    CONSTRAINT routes_distance_check CHECK (((distance >= (0)::double precision) AND (distance < 'Infinity'::double precision))),
    CONSTRAINT routes_distance_max CHECK ((distance <= ('100000000'::numeric)::double precision)),
    CONSTRAINT routes_duration_check CHECK (((duration >= (0)::double precision) AND (duration <= ('100000000'::numeric)::double precision))),
    CONSTRAINT routes_elevation_gain_check CHECK (((elevation_gain >= (0)::double precision) AND (elevation_gain <= ('1000000'::numeric)::double precision))),
    CONSTRAINT routes_end_address_check CHECK ((char_length(end_address) <= 255)),
    CONSTRAINT routes_imported_from_check CHECK ((imported_from ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT routes_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 255))),
    CONSTRAINT routes_provenance_check CHECK ((provenance = ANY (ARRAY['routing-engine'::text, 'legacy-provider'::text, 'gpx-import'::text, 'generation'::text]))),
    CONSTRAINT routes_published_at CHECK (((visibility <> 'public'::text) OR (published_at IS NOT NULL))),
    CONSTRAINT routes_share_token_check CHECK ((share_token ~ '^[0-9a-f]{32}$'::text)),
    CONSTRAINT routes_start_address_check CHECK ((char_length(start_address) <= 255)),
    CONSTRAINT routes_tags_check CHECK ((cardinality(tags) <= 10)),
    CONSTRAINT routes_visibility_check CHECK ((visibility = ANY (ARRAY['private'::text, 'unlisted'::text, 'public'::text])))
);
ALTER TABLE public.routes ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.routes_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sessions (
    id uuid NOT NULL,
    user_id bigint NOT NULL,
    user_agent text,
    ip_address text,
    created_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone
);
CREATE TABLE public.share_links (
    id bigint NOT NULL,
    route_id bigint,
    collection_id bigint,
    token text NOT NULL,
    label text,
    allow_download boolean NOT NULL,
    expires_at timestamp with time zone,
    uses bigint DEFAULT 0 NOT NULL,
    last_used_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT share_links_check CHECK ((num_nonnulls(route_id, collection_id) = 1)),
    CONSTRAINT share_links_label_check CHECK (((char_length(label) >= 1) AND (char_length(label) <= 100))),
    CONSTRAINT share_links_token_check CHECK ((token ~ '^[0-9a-f]{32}$'::text))
);
ALTER TABLE public.share_links ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.share_links_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.sign_ups (
    id bigint NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    name text NOT NULL,
    password_hash text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    is_invited boolean DEFAULT false NOT NULL,
    network text,
    CONSTRAINT sign_ups_email_check CHECK ((char_length(email) <= 254)),
    CONSTRAINT sign_ups_email_key_check CHECK ((char_length(email_key) <= 320)),
    CONSTRAINT sign_ups_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100))),
    CONSTRAINT sign_ups_network_check CHECK ((char_length(network) <= 45))
);
ALTER TABLE public.sign_ups ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.sign_ups_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.usage_limits (
    id boolean DEFAULT true NOT NULL,
    max_routes bigint NOT NULL,
    max_stored_bytes bigint NOT NULL,
    max_collections bigint NOT NULL,
    seen_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    replaced bigint[],
    CONSTRAINT usage_limits_id_check CHECK (id)
);
CREATE TABLE public.users (
    id bigint NOT NULL,
    email text NOT NULL,
    email_key text NOT NULL,
    email_verified_at timestamp with time zone,
    password_hash text,
    name text NOT NULL,
    handle text NOT NULL,
    avatar text,
    preferences jsonb,
    deletion_requested_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    devices_revoked_at timestamp with time zone,
    zones_revision bigint,
    CONSTRAINT users_avatar_check CHECK ((char_length(avatar) <= 2048)),
    CONSTRAINT users_email_check CHECK ((char_length(email) <= 254)),
    CONSTRAINT users_email_key_check CHECK ((char_length(email_key) <= 320)),
    CONSTRAINT users_handle_check CHECK ((handle ~ '^[a-z0-9-]{3,30}$'::text)),
    CONSTRAINT users_name_check CHECK (((char_length(name) >= 1) AND (char_length(name) <= 100)))
);
ALTER TABLE public.users ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.users_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE SEQUENCE public.zones_revisions
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.change_counters
    ADD CONSTRAINT change_counters_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.change_epochs
    ADD CONSTRAINT change_epochs_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (user_id, type, id);
ALTER TABLE ONLY public.collection_routes
    ADD CONSTRAINT collection_routes_pkey PRIMARY KEY (collection_id, route_id);
ALTER TABLE ONLY public.collection_usage
    ADD CONSTRAINT collection_usage_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.collections
    ADD CONSTRAINT collections_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.collections
    ADD CONSTRAINT collections_share_token_key UNIQUE (share_token);
ALTER TABLE ONLY public.effect_sql_migrations
    ADD CONSTRAINT effect_sql_migrations_pkey PRIMARY KEY (migration_id);
ALTER TABLE ONLY public.email_tokens
    ADD CONSTRAINT email_tokens_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_pkey PRIMARY KEY (user_id, endpoint, key);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_pkey PRIMARY KEY (issuer, subject);
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_key UNIQUE (user_id, issuer);
ALTER TABLE ONLY public.mail_quotas
    ADD CONSTRAINT mail_quotas_pkey PRIMARY KEY (recipient);
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_hash_key UNIQUE (token_hash);
ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.privacy_zones
    ADD CONSTRAINT privacy_zones_pkey PRIMARY KEY (user_id, "position");
ALTER TABLE ONLY public.revoked_tokens
    ADD CONSTRAINT revoked_tokens_pkey PRIMARY KEY (token_hash);
ALTER TABLE ONLY public.route_usage
    ADD CONSTRAINT route_usage_pkey PRIMARY KEY (user_id);
ALTER TABLE ONLY public.route_views
    ADD CONSTRAINT route_views_pkey PRIMARY KEY (route_id);
ALTER TABLE ONLY public.route_words_due
    ADD CONSTRAINT route_words_due_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.route_words
    ADD CONSTRAINT route_words_pkey PRIMARY KEY (route_id);
ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_share_token_key UNIQUE (share_token);
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.share_links
    ADD CONSTRAINT share_links_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.share_links
    ADD CONSTRAINT share_links_token_key UNIQUE (token);
ALTER TABLE ONLY public.sign_ups
    ADD CONSTRAINT sign_ups_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.usage_limits
    ADD CONSTRAINT usage_limits_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_email_key UNIQUE (email_key);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_handle_key UNIQUE (handle);
ALTER TABLE ONLY public.users
    ADD CONSTRAINT users_pkey PRIMARY KEY (id);
CREATE INDEX audit_events_expiry_idx ON public.audit_events USING btree (created_at);
CREATE INDEX audit_events_subject_idx ON public.audit_events USING btree (subject_id, id DESC);
CREATE INDEX audit_events_user_idx ON public.audit_events USING btree (user_id, id DESC);
CREATE INDEX changes_order_idx ON public.changes USING btree (user_id, number);
CREATE INDEX changes_purge_idx ON public.changes USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX collection_routes_order_idx ON public.collection_routes USING btree (collection_id, "position");
CREATE INDEX collection_routes_route_idx ON public.collection_routes USING btree (route_id);
CREATE UNIQUE INDEX collections_import_key ON public.collections USING btree (user_id, imported_from) WHERE (imported_from IS NOT NULL);
CREATE INDEX collections_owner_idx ON public.collections USING btree (user_id, created_at DESC, id DESC) WHERE (deleted_at IS NULL);
CREATE INDEX collections_purge_idx ON public.collections USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX collections_trash_idx ON public.collections USING btree (user_id, deleted_at DESC, id DESC) WHERE (deleted_at IS NOT NULL);
CREATE INDEX collections_user_idx ON public.collections USING btree (user_id);
CREATE INDEX email_tokens_expiry_idx ON public.email_tokens USING btree (expires_at);
CREATE INDEX email_tokens_sign_up_idx ON public.email_tokens USING btree (sign_up_id);
CREATE INDEX email_tokens_user_idx ON public.email_tokens USING btree (user_id, purpose, created_at DESC);
CREATE INDEX idempotency_keys_age_idx ON public.idempotency_keys USING btree (created_at);
CREATE INDEX mail_quotas_expiry_idx ON public.mail_quotas USING btree (expires_at);
CREATE INDEX outbox_due_idx ON public.outbox USING btree (next_attempt_at);
CREATE INDEX outbox_user_idx ON public.outbox USING btree (user_id);
CREATE INDEX pending_changes_user_idx ON public.pending_changes USING btree (user_id);
CREATE INDEX personal_access_tokens_expiry_idx ON public.personal_access_tokens USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX personal_access_tokens_user_idx ON public.personal_access_tokens USING btree (user_id, id DESC);
CREATE INDEX revoked_tokens_revoked_idx ON public.revoked_tokens USING btree (revoked_at);
CREATE INDEX revoked_tokens_user_idx ON public.revoked_tokens USING btree (user_id);
CREATE INDEX route_words_idx ON public.route_words USING gin (words) WITH (gin_pending_list_limit='256');
CREATE INDEX routes_bin_idx ON public.routes USING btree (user_id, deleted_at DESC, id DESC) WHERE (deleted_at IS NOT NULL);
CREATE INDEX routes_bounds_idx ON public.routes USING gist (bounds) INCLUDE (user_id, is_indexable, activity, distance) WHERE ((visibility = 'public'::text) AND (deleted_at IS NULL));
CREATE INDEX routes_city_idx ON public.routes USING btree (lower(place_city), published_at DESC, id DESC) WHERE ((visibility = 'public'::text) AND (deleted_at IS NULL));
CREATE UNIQUE INDEX routes_import_key ON public.routes USING btree (user_id, imported_from) WHERE (imported_from IS NOT NULL);
CREATE INDEX routes_indexable_idx ON public.routes USING btree (updated_at DESC, id DESC) INCLUDE (user_id) WHERE ((visibility = 'public'::text) AND (deleted_at IS NULL) AND is_indexable);
CREATE INDEX routes_name_idx ON public.routes USING btree (user_id, name COLLATE public.name_order, id) WHERE (deleted_at IS NULL);
CREATE INDEX routes_owner_idx ON public.routes USING btree (user_id, created_at DESC, id DESC) INCLUDE (distance) WHERE (deleted_at IS NULL);
CREATE INDEX routes_owner_public_idx ON public.routes USING btree (user_id, published_at DESC, id DESC) INCLUDE (is_indexable, activity, distance) WHERE ((visibility = 'public'::text) AND (deleted_at IS NULL));
CREATE INDEX routes_place_version_idx ON public.routes USING btree (place_version, id);
CREATE INDEX routes_published_idx ON public.routes USING btree (published_at DESC, id DESC) INCLUDE (user_id) WHERE ((visibility = 'public'::text) AND (deleted_at IS NULL));
CREATE INDEX routes_purge_idx ON public.routes USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX routes_user_idx ON public.routes USING btree (user_id);
CREATE INDEX sessions_expiry_idx ON public.sessions USING btree (expires_at);
CREATE INDEX sessions_live_idx ON public.sessions USING btree (user_id, created_at DESC, id DESC) WHERE (revoked_at IS NULL);
CREATE INDEX sessions_user_idx ON public.sessions USING btree (user_id);
CREATE INDEX share_links_collection_idx ON public.share_links USING btree (collection_id) WHERE (collection_id IS NOT NULL);
CREATE INDEX share_links_expiry_idx ON public.share_links USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX share_links_route_idx ON public.share_links USING btree (route_id) WHERE (route_id IS NOT NULL);
CREATE INDEX sign_ups_address_idx ON public.sign_ups USING btree (email_key, created_at DESC, id DESC);
CREATE INDEX sign_ups_expiry_idx ON public.sign_ups USING btree (expires_at);
CREATE INDEX users_deletion_idx ON public.users USING btree (deletion_requested_at) WHERE (deletion_requested_at IS NOT NULL);
CREATE INDEX users_unproven_idx ON public.users USING btree (created_at) WHERE (email_verified_at IS NULL);
CREATE INDEX users_zones_idx ON public.users USING btree (id) WHERE (zones_revision IS NOT NULL);
CREATE TRIGGER announce_on_insert AFTER INSERT ON public.pending_changes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.announce_changes();
CREATE TRIGGER change_on_delete AFTER DELETE ON public.collections REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.record_delete_of_collections();
CREATE TRIGGER change_on_delete AFTER DELETE ON public.routes REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.record_delete_of_routes();
CREATE TRIGGER change_on_deletion AFTER UPDATE OF deletion_requested_at ON public.users FOR EACH ROW WHEN (((new.deletion_requested_at IS NULL) <> (old.deletion_requested_at IS NULL))) EXECUTE FUNCTION public.relist_routes_of_user();
CREATE TRIGGER change_on_insert AFTER INSERT ON public.collections REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.record_insert_of_collections();
CREATE TRIGGER change_on_insert AFTER INSERT ON public.routes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.record_insert_of_routes();
CREATE TRIGGER change_on_update AFTER UPDATE ON public.collections REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.record_update_of_collections();
CREATE TRIGGER change_on_update AFTER UPDATE ON public.routes REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.record_update_of_routes();
CREATE TRIGGER forget_changes AFTER DELETE ON public.users FOR EACH ROW EXECUTE FUNCTION public.forget_changes_of_user();
CREATE TRIGGER usage_on_delete AFTER DELETE ON public.collections REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.count_collections_on_delete();
CREATE TRIGGER usage_on_delete AFTER DELETE ON public.idempotency_keys REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.count_idempotency_keys_on_delete();
CREATE TRIGGER usage_on_delete AFTER DELETE ON public.routes REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION public.count_routes_on_delete();
CREATE TRIGGER usage_on_insert AFTER INSERT ON public.collections REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_collections_on_insert();
CREATE TRIGGER usage_on_insert AFTER INSERT ON public.idempotency_keys REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_idempotency_keys_on_insert();
CREATE TRIGGER usage_on_insert AFTER INSERT ON public.routes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_routes_on_insert();
CREATE TRIGGER usage_on_insert AFTER INSERT ON public.users REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.begin_usage();
CREATE TRIGGER usage_on_update AFTER UPDATE ON public.collections REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_collections_on_update();
CREATE TRIGGER usage_on_update AFTER UPDATE ON public.idempotency_keys REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_idempotency_keys_on_update();
CREATE TRIGGER usage_on_update AFTER UPDATE ON public.routes REFERENCING OLD TABLE AS removed NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.count_routes_on_update();
CREATE TRIGGER words_on_insert AFTER INSERT ON public.routes REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION public.add_route_words();
CREATE TRIGGER words_on_update AFTER UPDATE OF user_id, name, description, tags, waypoints, place_city, place_region, visibility, deleted_at ON public.routes FOR EACH ROW WHEN ((old.user_id, old.name, old.description, old.tags, old.waypoints, old.place_city, old.place_region, old.visibility, old.deleted_at) IS DISTINCT FROM (new.user_id, new.name, new.description, new.tags, new.waypoints, new.place_city, new.place_region, new.visibility, new.deleted_at)) EXECUTE FUNCTION public.change_route_words();
ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_subject_id_fkey FOREIGN KEY (subject_id) REFERENCES public.users(id) ON DELETE SET NULL;
ALTER TABLE ONLY public.audit_events
    ADD CONSTRAINT audit_events_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.change_counters
    ADD CONSTRAINT change_counters_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.changes
    ADD CONSTRAINT changes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.change_counters(user_id) ON DELETE CASCADE;
ALTER TABLE ONLY public.collection_routes
    ADD CONSTRAINT collection_routes_collection_id_fkey FOREIGN KEY (collection_id) REFERENCES public.collections(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.collection_routes
    ADD CONSTRAINT collection_routes_route_id_fkey FOREIGN KEY (route_id) REFERENCES public.routes(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.collection_usage
    ADD CONSTRAINT collection_usage_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.collections
    ADD CONSTRAINT collections_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.email_tokens
    ADD CONSTRAINT email_tokens_sign_up_id_fkey FOREIGN KEY (sign_up_id) REFERENCES public.sign_ups(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.email_tokens
    ADD CONSTRAINT email_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.idempotency_keys
    ADD CONSTRAINT idempotency_keys_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.identities
    ADD CONSTRAINT identities_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.outbox
    ADD CONSTRAINT outbox_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.personal_access_tokens
    ADD CONSTRAINT personal_access_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.privacy_zones
    ADD CONSTRAINT privacy_zones_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.revoked_tokens
    ADD CONSTRAINT revoked_tokens_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.route_usage
    ADD CONSTRAINT route_usage_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.route_views
    ADD CONSTRAINT route_views_route_id_fkey FOREIGN KEY (route_id) REFERENCES public.routes(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.route_words
    ADD CONSTRAINT route_words_route_id_fkey FOREIGN KEY (route_id) REFERENCES public.routes(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.routes
    ADD CONSTRAINT routes_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT sessions_user_id_fkey FOREIGN KEY (user_id) REFERENCES public.users(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.share_links
    ADD CONSTRAINT share_links_collection_id_fkey FOREIGN KEY (collection_id) REFERENCES public.collections(id) ON DELETE CASCADE;
ALTER TABLE ONLY public.share_links
    ADD CONSTRAINT share_links_route_id_fkey FOREIGN KEY (route_id) REFERENCES public.routes(id) ON DELETE CASCADE;
