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
    delta text NOT NULL
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
INSERT INTO balances VALUES ('patient', 'table', 'visits', '{"epsilon":"9/10","kind":"PureDP","neighbours":null}', NULL, '3/10', '3/200', '0');
INSERT INTO balances VALUES ('patient', 'analyst', 'ada', '{"epsilon":"3/5","kind":"PureDP","neighbours":null}', NULL, '3/10', '3/200', '0');
INSERT INTO balances VALUES ('patient', 'table', 'bills', NULL, NULL, '1/10', '1/200', '1/10000000');
INSERT INTO balances VALUES ('patient', 'analyst', 'böb', NULL, NULL, '1/10', '1/200', '1/10000000');
INSERT INTO balances VALUES ('patient', 'unit', 'patient', '{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null}', '403519829531/17592186044416', '2/5', '1/50', '1/10000000');
INSERT INTO balances VALUES ('device', 'table', 'signals', NULL, NULL, NULL, '1/1800', '0');
INSERT INTO balances VALUES ('device', 'unit', 'device', '{"kind":"ZCDP","neighbours":null,"rho":"1/2"}', NULL, NULL, '1/1800', '0');
INSERT INTO balances VALUES ('doctor', 'table', 'shifts', NULL, NULL, '1/3', '1/18', '0');
INSERT INTO balances VALUES ('doctor', 'table', 'wards', NULL, NULL, '1/3', '1/18', '0');
INSERT INTO balances VALUES ('doctor', 'unit', 'doctor', '{"epsilon":"2","kind":"PureDP","neighbours":null}', NULL, '1/3', '1/18', '0');
INSERT INTO entries VALUES (0, '{"format":1,"id":0,"kind":"genesis","ledger":"6b8dcb6976b9403faeb4a997320fa275","previous":"0000000000000000000000000000000000000000000000000000000000000000","testing":false,"time":"2026-11-16T11:43:10.693107Z"}', '2b25cb6a13a48d462609d05379e5b35df69ba1c75cfea68f3e316ea88a67f7bc', NULL, NULL);
INSERT INTO entries VALUES (1, '{"cap":{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null},"id":1,"kind":"cap","name":"patient","previous":"2b25cb6a13a48d462609d05379e5b35df69ba1c75cfea68f3e316ea88a67f7bc","rho_cap":"403519829531/17592186044416","scope":"unit","time":"2026-11-16T11:43:10.899463Z","unit":"patient"}', '01b9af44b7ec86c63e53851a94ae8a721c8cb54a2285d2d74e4f496ae4629933', NULL, NULL);
INSERT INTO entries VALUES (2, '{"cap":{"epsilon":"2","kind":"PureDP","neighbours":null},"id":2,"kind":"cap","name":"doctor","previous":"01b9af44b7ec86c63e53851a94ae8a721c8cb54a2285d2d74e4f496ae4629933","rho_cap":null,"scope":"unit","time":"2026-11-16T11:43:10.906230Z","unit":"doctor"}', '8d0fdc7cc4fec923fd85accfe3b13889d18fc93ff094b077f112459d42a260b5', NULL, NULL);
INSERT INTO entries VALUES (3, '{"cap":{"kind":"ZCDP","neighbours":null,"rho":"1/2"},"id":3,"kind":"cap","name":"device","previous":"8d0fdc7cc4fec923fd85accfe3b13889d18fc93ff094b077f112459d42a260b5","rho_cap":null,"scope":"unit","time":"2026-11-16T11:43:10.909347Z","unit":"device"}', 'd33391d3bf38d7c8ccdb442f85433667c5753b744f2fb6f8c5177a0edfdf66be', NULL, NULL);
INSERT INTO entries VALUES (4, '{"cap":{"epsilon":"9/10","kind":"PureDP","neighbours":null},"id":4,"kind":"cap","name":"visits","previous":"d33391d3bf38d7c8ccdb442f85433667c5753b744f2fb6f8c5177a0edfdf66be","rho_cap":null,"scope":"table","time":"2026-11-16T11:43:10.914203Z","unit":"patient"}', '1a8e2f2342c3f6a1177f53f8aebb421ac2e26cc3c5d14ae33be9c2867265b7b4', NULL, NULL);
INSERT INTO entries VALUES (5, '{"cap":{"epsilon":"1/2","kind":"PureDP","neighbours":null},"id":5,"kind":"cap","name":"ada","previous":"1a8e2f2342c3f6a1177f53f8aebb421ac2e26cc3c5d14ae33be9c2867265b7b4","rho_cap":null,"scope":"analyst","time":"2026-11-16T11:43:10.916447Z","unit":"patient"}', '7dbc77eb085ba5aedc7cf7c2b204946bd85718b5a666392a8de645377114b520', NULL, NULL);
INSERT INTO entries VALUES (6, '{"cap":{"epsilon":"3/5","kind":"PureDP","neighbours":null},"id":6,"kind":"cap","name":"ada","previous":"7dbc77eb085ba5aedc7cf7c2b204946bd85718b5a666392a8de645377114b520","rho_cap":null,"scope":"analyst","time":"2026-11-16T11:43:10.920428Z","unit":"patient"}', '30bd5123a3bdf4c83bfb56c938f4b2515590de107560dd1bd0795e4814cce9c5', NULL, NULL);
INSERT INTO entries VALUES (7, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":7,"key":"k0","kind":"spend","previous":"30bd5123a3bdf4c83bfb56c938f4b2515590de107560dd1bd0795e4814cce9c5","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 0","secure":true,"tables":["visits"],"time":"2026-11-16T11:43:10.927299Z","unit":"patient","version":"1"}', '30ce24b1c275dfaa323e0871cd74268113c2a8a9a72540bff55667471d78a107', 'ada', 'k0');
INSERT INTO entries VALUES (8, '{"digest":"74036a4090ae43d0bfa24beaf2c5fccd72f9ad661e3a588f2e9b419e1236e4ed","id":8,"kind":"answer","of":7,"previous":"30ce24b1c275dfaa323e0871cd74268113c2a8a9a72540bff55667471d78a107","size":264,"time":"2026-11-16T11:43:10.931425Z"}', 'aeb73e1d949a98b9ad5f9b66a1d76f7497a71910fd8fe999549a254ec5413782', NULL, NULL);
INSERT INTO entries VALUES (9, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":9,"key":"k1","kind":"spend","previous":"aeb73e1d949a98b9ad5f9b66a1d76f7497a71910fd8fe999549a254ec5413782","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 1","secure":true,"tables":["visits"],"time":"2026-11-16T11:43:10.937050Z","unit":"patient","version":"1"}', '83737f1174312058e19c197449f30995b3517e06692369871850f79ad74e9623', 'ada', 'k1');
INSERT INTO entries VALUES (10, '{"digest":"014b144307251b48163af7880c9dbceacb7d385732b76dd2ea3fead570b303d4","id":10,"kind":"answer","of":9,"previous":"83737f1174312058e19c197449f30995b3517e06692369871850f79ad74e9623","size":264,"time":"2026-11-16T11:43:10.939845Z"}', '104c89759b850253f9f53b3cb4908ed7adab5a836d5a0531386552407a9f6dd9', NULL, NULL);
INSERT INTO entries VALUES (11, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":11,"key":"k2","kind":"spend","previous":"104c89759b850253f9f53b3cb4908ed7adab5a836d5a0531386552407a9f6dd9","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 2","secure":true,"tables":["visits"],"time":"2026-11-16T11:43:10.948533Z","unit":"patient","version":"1"}', 'fac4aab5cbbf33c59d630ae2b2429d05399495e3fce6560e26b9597772392b25', 'ada', 'k2');
INSERT INTO entries VALUES (12, '{"analyst":"b\u00f6b","event":{"delta":"1/10000000","epsilon":"1/10","kind":"ApproxEvent"},"id":12,"key":"d","kind":"spend","previous":"fac4aab5cbbf33c59d630ae2b2429d05399495e3fce6560e26b9597772392b25","price":{"delta":"1/10000000","epsilon":"1/10","rho":"1/200"},"query":"","secure":true,"tables":["bills"],"time":"2026-11-16T11:43:10.951826Z","unit":"patient","version":null}', '73508782fff943f95bbc668d639ac7e2c8683c7b0fdf20316943a0f1dd600b95', 'böb', 'd');
INSERT INTO entries VALUES (13, '{"analyst":null,"event":{"kind":"GaussianEvent","sensitivity":"1","sigma":"30"},"id":13,"key":null,"kind":"spend","previous":"73508782fff943f95bbc668d639ac7e2c8683c7b0fdf20316943a0f1dd600b95","price":{"delta":"0","epsilon":null,"rho":"1/1800"},"query":"SELECT 1","secure":true,"tables":["signals"],"time":"2026-11-16T11:43:10.956383Z","unit":"device","version":null}', '4cd2d180833c04b42e33eaa772f964809aa42ce4b84d1b5546b4fea2b6b56c94', NULL, NULL);
INSERT INTO entries VALUES (14, '{"analyst":null,"event":null,"id":14,"key":null,"kind":"spend","previous":"4cd2d180833c04b42e33eaa772f964809aa42ce4b84d1b5546b4fea2b6b56c94","price":{"delta":"0","epsilon":"1/3","rho":"1/18"},"query":"","secure":true,"tables":["shifts","wards"],"time":"2026-11-16T11:43:10.960771Z","unit":"doctor","version":"2"}', 'b5a371a5881047d9203c4cd42dfc39071c4c7e7b7b94fe12629aa207f5cf4924', NULL, NULL);
INSERT INTO head VALUES (1, 1, 14, 'b5a371a5881047d9203c4cd42dfc39071c4c7e7b7b94fe12629aa207f5cf4924');
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
