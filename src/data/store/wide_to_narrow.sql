-- Lists and reports read a few short columns of every record. They stand in one table now, what is long and never
-- changes in another; what was taken out of JSON again and again has columns of its own.
CREATE TABLE replies_narrow (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    record_version INTEGER NOT NULL,
    run TEXT NOT NULL REFERENCES runs (name),
    dataset TEXT NOT NULL,
    dataset_fingerprint TEXT NOT NULL,
    question_id TEXT NOT NULL,
    scenario TEXT NOT NULL,
    model_name TEXT NOT NULL,
    outcome TEXT NOT NULL,
    created_at TEXT NOT NULL,
    -- Hash of the whole request; unknown for replies of earlier versions and of other programs.
    request TEXT,
    -- Where a reply that was asked for in another run comes from.
    origin TEXT NOT NULL,
    condition TEXT NOT NULL,
    sampling TEXT NOT NULL,
    model TEXT NOT NULL,
    reported TEXT,
    short INTEGER NOT NULL,
    changed INTEGER NOT NULL,
    own_documents INTEGER NOT NULL,
    question_set TEXT,
    gold TEXT NOT NULL,
    answer TEXT,
    judge TEXT,
    notes TEXT NOT NULL,
    probabilities TEXT NOT NULL,
    counts TEXT NOT NULL,
    failure TEXT NOT NULL,
    scores TEXT NOT NULL,
    parsed TEXT NOT NULL
) STRICT;

INSERT INTO replies_narrow SELECT
    id, record_version, run, dataset, dataset_fingerprint, question_id, scenario, model_name, outcome, created_at,
    NULL, 'null', condition, sampling, model,
    CASE WHEN json_valid(reply) THEN CAST(json_extract(reply, '$.reported_model') AS TEXT) END,
    CASE WHEN json_valid(context) THEN coalesce(CAST(json_extract(context, '$.short') AS INTEGER), 0) ELSE 0 END,
    CASE WHEN json_valid(context) THEN json_extract(context, '$.variant') IS NOT NULL ELSE 0 END,
    CASE WHEN json_valid(question) THEN json_extract(question, '$.extra.documents') IS 'medrgb' ELSE 0 END,
    CASE WHEN json_valid(question) THEN CAST(json_extract(question, '$.extra.dataset') AS TEXT) END,
    CASE WHEN json_valid(question) THEN coalesce(CAST(json_extract(question, '$.answer') AS TEXT), '') ELSE '' END,
    CASE WHEN json_valid(parsed) THEN CAST(json_extract(parsed, '$.answer') AS TEXT) END,
    CASE WHEN json_valid(scores) THEN CAST(json_extract(scores, '$.judge') AS TEXT) END,
    CASE WHEN json_valid(parsed) THEN coalesce(CAST(json_extract(parsed, '$.notes') AS TEXT), '[]') ELSE '[]' END,
    CASE WHEN json_valid(reply)
        THEN coalesce(CAST(json_extract(reply, '$.option_probabilities') AS TEXT), 'null') ELSE 'null' END,
    CASE WHEN json_valid(scores) THEN coalesce(CAST(json_extract(scores, '$.counts') AS TEXT), '{}') ELSE '{}' END,
    failure, scores, parsed
FROM replies;

CREATE TABLE texts (
    id INTEGER PRIMARY KEY REFERENCES replies (id) ON DELETE CASCADE,
    reply TEXT NOT NULL,
    question TEXT NOT NULL,
    raw TEXT NOT NULL,
    context TEXT NOT NULL,
    prompt TEXT NOT NULL
) STRICT;

INSERT INTO texts SELECT id, reply, question, raw, context, prompt FROM replies;

DROP TABLE replies;
ALTER TABLE replies_narrow RENAME TO replies;

CREATE INDEX replies_by_question ON replies (dataset_fingerprint, question_id, id);
CREATE INDEX replies_by_request ON replies (request, id) WHERE request IS NOT NULL;
-- Holds all that lists of a run show, so that they never look into the records themselves.
CREATE INDEX replies_listed ON replies (run, id, dataset, dataset_fingerprint, question_id, scenario, condition,
    model_name, outcome, short, created_at, origin, reported, sampling, model);
