CREATE FUNCTION discreet_append_only() RETURNS trigger
    LANGUAGE plpgsql
    AS $$ BEGIN RAISE EXCEPTION 'entries are append-only'; END $$;
CREATE TABLE answers (
    spend bigint NOT NULL,
    record bigint NOT NULL,
    bytes bytea NOT NULL
);
CREATE TABLE balances (
    unit text NOT NULL,
    scope text NOT NULL,
    name text NOT NULL,
    cap text,
    rho_cap text,
    epsilon text,
    rho text NOT NULL,
    delta text NOT NULL,
    state text
);
CREATE TABLE entries (
    id bigint NOT NULL,
    body text NOT NULL,
    hash text NOT NULL,
    analyst text,
    key text
);
CREATE TABLE head (
    slot integer NOT NULL,
    format integer NOT NULL,
    id bigint NOT NULL,
    hash text NOT NULL
);
INSERT INTO answers VALUES (7, 8, '\x616e737765722030000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO answers VALUES (9, 10, '\x616e737765722031000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO balances VALUES ('patient', 'analyst', 'böb', NULL, NULL, '1/10', '1/200', '1/10000000', NULL);
INSERT INTO balances VALUES ('device', 'table', 'signals', NULL, NULL, NULL, '1/1800', '0', NULL);
INSERT INTO balances VALUES ('device', 'unit', 'device', '{"kind":"ZCDP","neighbours":null,"rho":"1/2"}', NULL, NULL, '1/1800', '0', NULL);
INSERT INTO balances VALUES ('doctor', 'table', 'shifts', NULL, NULL, '1/3', '1/18', '0', NULL);
INSERT INTO balances VALUES ('doctor', 'unit', 'doctor', '{"epsilon":"2","kind":"PureDP","neighbours":null}', NULL, '1/3', '1/18', '0', NULL);
INSERT INTO balances VALUES ('patient', 'period', 'first', '{"delta":"1/1000000","epsilon":"3/2","kind":"ApproxDP","neighbours":null}', '1721567491563/35184372088832', '2/5', '1/50', '1/10000000', 'closed');
INSERT INTO balances VALUES ('patient', 'unit', 'patient', '{"delta":"1/500000","epsilon":"5/2","kind":"ApproxDP","neighbours":null}', NULL, '1/2', '1/40', '1/10000000', NULL);
INSERT INTO balances VALUES ('patient', 'period', '2027', '{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null}', '403519829531/17592186044416', '1/10', '1/200', '0', NULL);
INSERT INTO balances VALUES ('patient', 'table', 'visits', '{"epsilon":"9/10","kind":"PureDP","neighbours":null}', NULL, '2/5', '1/50', '0', NULL);
INSERT INTO balances VALUES ('patient', 'analyst', 'ada', '{"epsilon":"3/5","kind":"PureDP","neighbours":null}', NULL, '2/5', '1/50', '0', NULL);
INSERT INTO balances VALUES ('patient', 'table', 'bills', NULL, NULL, '1/10', '1/200', '1/10000000', 'retired');
INSERT INTO balances VALUES ('doctor', 'table', 'wards', NULL, NULL, '1/3', '1/18', '0', NULL);
INSERT INTO entries VALUES (0, '{"format":2,"id":0,"kind":"genesis","ledger":"6cc5fe5e6f964d7e92fa4c610ff7231e","previous":"0000000000000000000000000000000000000000000000000000000000000000","testing":false,"time":"2026-11-16T12:33:32.165501Z"}', 'fdf805789c903651e30ac9409c121e2358a6ae69b7976964eb6c380eb2342f2c', NULL, NULL);
INSERT INTO entries VALUES (1, '{"cap":{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null},"id":1,"kind":"cap","name":"patient","previous":"fdf805789c903651e30ac9409c121e2358a6ae69b7976964eb6c380eb2342f2c","rho_cap":"403519829531/17592186044416","scope":"unit","time":"2026-11-16T12:33:33.863380Z","unit":"patient"}', '50649698398f6908197f5281cfefe6d0f4bf5790d8882f4bc2078042253e691c', NULL, NULL);
INSERT INTO entries VALUES (2, '{"cap":{"epsilon":"2","kind":"PureDP","neighbours":null},"id":2,"kind":"cap","name":"doctor","previous":"50649698398f6908197f5281cfefe6d0f4bf5790d8882f4bc2078042253e691c","rho_cap":null,"scope":"unit","time":"2026-11-16T12:33:33.895336Z","unit":"doctor"}', 'f1f945c28ccee348e35c529cc69f3a876aa954423f19bfaa20fe58d0e86b815d', NULL, NULL);
INSERT INTO entries VALUES (3, '{"cap":{"kind":"ZCDP","neighbours":null,"rho":"1/2"},"id":3,"kind":"cap","name":"device","previous":"f1f945c28ccee348e35c529cc69f3a876aa954423f19bfaa20fe58d0e86b815d","rho_cap":null,"scope":"unit","time":"2026-11-16T12:33:33.912283Z","unit":"device"}', '16617c2beed00673f54fad6a78aa909e766165ef7c984c65aa598887521c18c8', NULL, NULL);
INSERT INTO entries VALUES (4, '{"cap":{"epsilon":"9/10","kind":"PureDP","neighbours":null},"id":4,"kind":"cap","name":"visits","previous":"16617c2beed00673f54fad6a78aa909e766165ef7c984c65aa598887521c18c8","rho_cap":null,"scope":"table","time":"2026-11-16T12:33:33.933740Z","unit":"patient"}', 'f9cbbf7eeac8e6c65de7eed33b8686933f74adf86d705634e06655c12489a83c', NULL, NULL);
INSERT INTO entries VALUES (5, '{"cap":{"epsilon":"1/2","kind":"PureDP","neighbours":null},"id":5,"kind":"cap","name":"ada","previous":"f9cbbf7eeac8e6c65de7eed33b8686933f74adf86d705634e06655c12489a83c","rho_cap":null,"scope":"analyst","time":"2026-11-16T12:33:33.955568Z","unit":"patient"}', 'acbce231df6ec9544db701da34d67d0023aa8951dcda28e0f641a3dcde3fa090', NULL, NULL);
INSERT INTO entries VALUES (6, '{"cap":{"epsilon":"3/5","kind":"PureDP","neighbours":null},"id":6,"kind":"cap","name":"ada","previous":"acbce231df6ec9544db701da34d67d0023aa8951dcda28e0f641a3dcde3fa090","rho_cap":null,"scope":"analyst","time":"2026-11-16T12:33:33.974789Z","unit":"patient"}', '7573c68cba76b2d516bb8f1b756004c3458ed7f622546493f3c2a520e6aae7e3', NULL, NULL);
INSERT INTO entries VALUES (7, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":7,"key":"k0","kind":"spend","previous":"7573c68cba76b2d516bb8f1b756004c3458ed7f622546493f3c2a520e6aae7e3","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 0","secure":true,"tables":["visits"],"time":"2026-11-16T12:33:34.004821Z","unit":"patient","version":"1"}', 'b753343ea2016c1cf8217d450d6b955c70682e7343d47071e98858e2551d229a', 'ada', 'k0');
INSERT INTO entries VALUES (8, '{"digest":"74036a4090ae43d0bfa24beaf2c5fccd72f9ad661e3a588f2e9b419e1236e4ed","id":8,"kind":"answer","of":7,"previous":"b753343ea2016c1cf8217d450d6b955c70682e7343d47071e98858e2551d229a","size":264,"time":"2026-11-16T12:33:34.051557Z"}', '5d9d91322e65a82344b876120d7cc80f2040e845976ddb1a07301b51bc40698e', NULL, NULL);
INSERT INTO entries VALUES (9, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":9,"key":"k1","kind":"spend","previous":"5d9d91322e65a82344b876120d7cc80f2040e845976ddb1a07301b51bc40698e","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 1","secure":true,"tables":["visits"],"time":"2026-11-16T12:33:34.077021Z","unit":"patient","version":"1"}', 'a19222dcdd31d3ef245f7e90994fa42ffaeb9c719e3b2d51a19bcef746facd73', 'ada', 'k1');
INSERT INTO entries VALUES (10, '{"digest":"014b144307251b48163af7880c9dbceacb7d385732b76dd2ea3fead570b303d4","id":10,"kind":"answer","of":9,"previous":"a19222dcdd31d3ef245f7e90994fa42ffaeb9c719e3b2d51a19bcef746facd73","size":264,"time":"2026-11-16T12:33:34.091653Z"}', 'de769b20a2587efabb8a640030c03a61cd14919b54c51c2c7eb7ae52d4495560', NULL, NULL);
INSERT INTO entries VALUES (11, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":11,"key":"k2","kind":"spend","previous":"de769b20a2587efabb8a640030c03a61cd14919b54c51c2c7eb7ae52d4495560","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 2","secure":true,"tables":["visits"],"time":"2026-11-16T12:33:34.110105Z","unit":"patient","version":"1"}', '498ad504860fa53eb2784f8fd6daa1822c750693172c14b1743ce6f9d3ad2a56', 'ada', 'k2');
INSERT INTO entries VALUES (12, '{"analyst":"b\u00f6b","event":{"delta":"1/10000000","epsilon":"1/10","kind":"ApproxEvent"},"id":12,"key":"d","kind":"spend","previous":"498ad504860fa53eb2784f8fd6daa1822c750693172c14b1743ce6f9d3ad2a56","price":{"delta":"1/10000000","epsilon":"1/10","rho":"1/200"},"query":"","secure":true,"tables":["bills"],"time":"2026-11-16T12:33:34.129917Z","unit":"patient","version":null}', 'fefd34160951a07391c2f8587a1f9f2b03f3c808e03c6416f806120217255673', 'böb', 'd');
INSERT INTO entries VALUES (13, '{"analyst":null,"event":{"kind":"GaussianEvent","sensitivity":"1","sigma":"30"},"id":13,"key":null,"kind":"spend","previous":"fefd34160951a07391c2f8587a1f9f2b03f3c808e03c6416f806120217255673","price":{"delta":"0","epsilon":null,"rho":"1/1800"},"query":"SELECT 1","secure":true,"tables":["signals"],"time":"2026-11-16T12:33:34.149855Z","unit":"device","version":null}', 'f48b5df6a56cafa9fba3766954c6247c1083f1aaf3318ccf07566e29cd9615d6', NULL, NULL);
INSERT INTO entries VALUES (14, '{"analyst":null,"event":null,"id":14,"key":null,"kind":"spend","previous":"f48b5df6a56cafa9fba3766954c6247c1083f1aaf3318ccf07566e29cd9615d6","price":{"delta":"0","epsilon":"1/3","rho":"1/18"},"query":"","secure":true,"tables":["shifts","wards"],"time":"2026-11-16T12:33:34.166081Z","unit":"doctor","version":"2"}', '3052763f4db827724796f30b4a5caf4c17cd52edc185ef2b0204d2d719ccd70d', NULL, NULL);
INSERT INTO entries VALUES (15, '{"cap":{"delta":"1/1000000","epsilon":"3/2","kind":"ApproxDP","neighbours":null},"id":15,"kind":"top_up","previous":"3052763f4db827724796f30b4a5caf4c17cd52edc185ef2b0204d2d719ccd70d","reason":"a second study","rho_cap":"1721567491563/35184372088832","time":"2026-11-16T12:33:34.232918Z","unit":"patient"}', 'f335e41a91568529033e45cd426146378134fbb88cf3a84aacd78448b6ac80cf', NULL, NULL);
INSERT INTO entries VALUES (16, '{"cap":{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null},"id":16,"kind":"renewal","period":"2027","previous":"f335e41a91568529033e45cd426146378134fbb88cf3a84aacd78448b6ac80cf","reason":"a new year","rho_cap":"403519829531/17592186044416","time":"2026-11-16T12:33:34.272373Z","unit":"patient"}', '1182ad6db9be2355cf84d60a0ea78e8f2fa69728a7771a1e92c9f04d70a62c02', NULL, NULL);
INSERT INTO entries VALUES (17, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":17,"key":null,"kind":"spend","previous":"1182ad6db9be2355cf84d60a0ea78e8f2fa69728a7771a1e92c9f04d70a62c02","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"","secure":true,"tables":["visits"],"time":"2026-11-16T12:33:34.287752Z","unit":"patient","version":null}', '0a4ce581199391b5d74011b6cd3b27c52abac87f1464bb2ad4e05b370603688b', 'ada', NULL);
INSERT INTO entries VALUES (18, '{"id":18,"kind":"retirement","previous":"0a4ce581199391b5d74011b6cd3b27c52abac87f1464bb2ad4e05b370603688b","reason":"sold","table":"bills","time":"2026-11-16T12:33:34.321752Z","unit":"patient"}', 'dbc4dfcd2df828cf4337707fd2f4361ec5991a6977aa80073d8607e4719765ae', NULL, NULL);
INSERT INTO entries VALUES (19, '{"id":19,"kind":"retirement","previous":"dbc4dfcd2df828cf4337707fd2f4361ec5991a6977aa80073d8607e4719765ae","reason":"a mistake","table":"wards","time":"2026-11-16T12:33:34.368902Z","unit":"doctor"}', '652fa547754faf043138a3c43113fb4c3b3be386b94dd7a21ac376ca0a15b47b', NULL, NULL);
INSERT INTO entries VALUES (20, '{"id":20,"kind":"reopening","previous":"652fa547754faf043138a3c43113fb4c3b3be386b94dd7a21ac376ca0a15b47b","reason":"it was one","table":"wards","time":"2026-11-16T12:33:34.385989Z","unit":"doctor"}', '51142908127f13331684c29919595533909511cd74d5e2d8d6514bec857033fb', NULL, NULL);
INSERT INTO entries VALUES (21, '{"id":21,"kind":"erasure","previous":"51142908127f13331684c29919595533909511cd74d5e2d8d6514bec857033fb","requests":3,"table":"visits","time":"2026-11-16T12:33:34.399398Z","unit":"patient","version":"2"}', '6c333e1e5d396fff3ab124b329aaca5e2dc3640c5a4f5210b031b434d40a1da5', NULL, NULL);
INSERT INTO head VALUES (1, 2, 21, '6c333e1e5d396fff3ab124b329aaca5e2dc3640c5a4f5210b031b434d40a1da5');
ALTER TABLE ONLY answers
    ADD CONSTRAINT answers_pkey PRIMARY KEY (spend);
ALTER TABLE ONLY answers
    ADD CONSTRAINT answers_record_key UNIQUE (record);
ALTER TABLE ONLY balances
    ADD CONSTRAINT balances_pkey PRIMARY KEY (unit, scope, name);
ALTER TABLE ONLY entries
    ADD CONSTRAINT entries_pkey PRIMARY KEY (id);
ALTER TABLE ONLY head
    ADD CONSTRAINT head_pkey PRIMARY KEY (slot);
CREATE INDEX balances_by_name ON balances USING btree (scope, name);
CREATE INDEX entries_by_key ON entries USING btree (key, analyst, id);
CREATE TRIGGER entries_change BEFORE DELETE OR UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION discreet_append_only();
CREATE TRIGGER entries_truncate BEFORE TRUNCATE ON entries FOR EACH STATEMENT EXECUTE FUNCTION discreet_append_only();
