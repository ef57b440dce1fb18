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
    hash text NOT NULL,
    witness text
);
INSERT INTO answers VALUES (9, 10, '\x616e737765722030000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO answers VALUES (11, 12, '\x616e737765722031000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f202122232425262728292a2b2c2d2e2f303132333435363738393a3b3c3d3e3f404142434445464748494a4b4c4d4e4f505152535455565758595a5b5c5d5e5f606162636465666768696a6b6c6d6e6f707172737475767778797a7b7c7d7e7f808182838485868788898a8b8c8d8e8f909192939495969798999a9b9c9d9e9fa0a1a2a3a4a5a6a7a8a9aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfc0c1c2c3c4c5c6c7c8c9cacbcccdcecfd0d1d2d3d4d5d6d7d8d9dadbdcdddedfe0e1e2e3e4e5e6e7e8e9eaebecedeeeff0f1f2f3f4f5f6f7f8f9fafbfcfdfeff');
INSERT INTO balances VALUES ('nurse', 'table', 'rounds', NULL, NULL, '1/4', '1/32', '0', NULL);
INSERT INTO balances VALUES ('nurse', 'unit', 'nurse', '{"epsilon":"1","kind":"PureDP","neighbours":null}', NULL, '1/4', '1/32', '0', NULL);
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
INSERT INTO entries VALUES (0, '{"format":3,"id":0,"kind":"genesis","ledger":"8c96d85d867d4aa89bde99e578da28d2","previous":"0000000000000000000000000000000000000000000000000000000000000000","testing":false,"time":"2026-11-19T22:24:51.857633Z"}', 'cc42879cd680b770673706fd6e1fb1bbade2fffe02838bf57cafafb39ef7896a', NULL, NULL);
INSERT INTO entries VALUES (1, '{"id":1,"kind":"recovery","lost":{"hash":"6ddf65c52b01c2640a600546565fcea89ba46d84d94e16273bddc599b6f081bd","id":3,"ledger":"bc68aceab8fc4bb08fbba9a3dc69c3fd"},"previous":"cc42879cd680b770673706fd6e1fb1bbade2fffe02838bf57cafafb39ef7896a","reason":"its disk was lost","time":"2026-11-19T22:24:52.703589Z","totals":[{"cap":null,"delta":"0","epsilon":"1/4","name":"rounds","rho":"1/32","rho_cap":null,"scope":"table","state":null,"unit":"nurse"},{"cap":{"epsilon":"1","kind":"PureDP","neighbours":null},"delta":"0","epsilon":"1/4","name":"nurse","rho":"1/32","rho_cap":null,"scope":"unit","state":null,"unit":"nurse"}]}', 'ee740f8442b2f0f357e49f79f5cd7fd35defbcee2cbf0978e27a82efbd1b4f14', NULL, NULL);
INSERT INTO entries VALUES (2, '{"id":2,"kind":"witness","previous":"ee740f8442b2f0f357e49f79f5cd7fd35defbcee2cbf0978e27a82efbd1b4f14","reason":"its disk was lost","state":"begun","time":"2026-11-19T22:24:52.708954Z"}', '9781329c22e846c4820a8e4924f07cdb2f15fd1c112a37812ed99c6f96c39ae7', NULL, NULL);
INSERT INTO entries VALUES (3, '{"cap":{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null},"id":3,"kind":"cap","name":"patient","previous":"9781329c22e846c4820a8e4924f07cdb2f15fd1c112a37812ed99c6f96c39ae7","rho_cap":"403519829531/17592186044416","scope":"unit","time":"2026-11-19T22:24:52.856350Z","unit":"patient"}', 'b6694d5f6e6a6d31529eecd0a91e3e97a00c5954dfe98bebd5da4fbdf1a1d56e', NULL, NULL);
INSERT INTO entries VALUES (4, '{"cap":{"epsilon":"2","kind":"PureDP","neighbours":null},"id":4,"kind":"cap","name":"doctor","previous":"b6694d5f6e6a6d31529eecd0a91e3e97a00c5954dfe98bebd5da4fbdf1a1d56e","rho_cap":null,"scope":"unit","time":"2026-11-19T22:24:53.051482Z","unit":"doctor"}', 'c7d39c4e6fbaafd9562a362bda018207a557ed9ff271f2a7806c7a89fe370277', NULL, NULL);
INSERT INTO entries VALUES (5, '{"cap":{"kind":"ZCDP","neighbours":null,"rho":"1/2"},"id":5,"kind":"cap","name":"device","previous":"c7d39c4e6fbaafd9562a362bda018207a557ed9ff271f2a7806c7a89fe370277","rho_cap":null,"scope":"unit","time":"2026-11-19T22:24:53.135431Z","unit":"device"}', '642ae5d9f7bb86832c256ea4860a911ea2fb44f08b29d2b4c7367d26228a2a89', NULL, NULL);
INSERT INTO entries VALUES (6, '{"cap":{"epsilon":"9/10","kind":"PureDP","neighbours":null},"id":6,"kind":"cap","name":"visits","previous":"642ae5d9f7bb86832c256ea4860a911ea2fb44f08b29d2b4c7367d26228a2a89","rho_cap":null,"scope":"table","time":"2026-11-19T22:24:53.237001Z","unit":"patient"}', 'e476684fb3fe15442d6900ad1f0347892d906ee4893493ba2f8573319ba074ff', NULL, NULL);
INSERT INTO entries VALUES (7, '{"cap":{"epsilon":"1/2","kind":"PureDP","neighbours":null},"id":7,"kind":"cap","name":"ada","previous":"e476684fb3fe15442d6900ad1f0347892d906ee4893493ba2f8573319ba074ff","rho_cap":null,"scope":"analyst","time":"2026-11-19T22:24:53.283850Z","unit":"patient"}', 'ad0200ae2246a2b78dbdc0099bf9aa99fb01ab26970829a81b668fe5a48ebe70', NULL, NULL);
INSERT INTO entries VALUES (8, '{"cap":{"epsilon":"3/5","kind":"PureDP","neighbours":null},"id":8,"kind":"cap","name":"ada","previous":"ad0200ae2246a2b78dbdc0099bf9aa99fb01ab26970829a81b668fe5a48ebe70","rho_cap":null,"scope":"analyst","time":"2026-11-19T22:24:53.383565Z","unit":"patient"}', '469ee9cab736766bbe9be2ed786361e52d26fa707759a01e8ff7861c69da189c', NULL, NULL);
INSERT INTO entries VALUES (9, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":9,"key":"k0","kind":"spend","previous":"469ee9cab736766bbe9be2ed786361e52d26fa707759a01e8ff7861c69da189c","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 0","secure":true,"tables":["visits"],"time":"2026-11-19T22:24:53.429945Z","unit":"patient","version":"1"}', 'd9f90bd4e954e07b5727b01ea3217009b2f526714292301fcb999e3ec8c17487', 'ada', 'k0');
INSERT INTO entries VALUES (10, '{"digest":"74036a4090ae43d0bfa24beaf2c5fccd72f9ad661e3a588f2e9b419e1236e4ed","id":10,"kind":"answer","of":9,"previous":"d9f90bd4e954e07b5727b01ea3217009b2f526714292301fcb999e3ec8c17487","size":264,"time":"2026-11-19T22:24:53.512704Z"}', 'cb63d741fffb0f85be4c78f6acf1dbe104f8d4d5fd760794c076767be9f81fa4', NULL, NULL);
INSERT INTO entries VALUES (11, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":11,"key":"k1","kind":"spend","previous":"cb63d741fffb0f85be4c78f6acf1dbe104f8d4d5fd760794c076767be9f81fa4","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 1","secure":true,"tables":["visits"],"time":"2026-11-19T22:24:53.612929Z","unit":"patient","version":"1"}', '5e0db70f221661f4715816acf5fe21f2cf6a5573f553abde27f9b1253d65c6f5', 'ada', 'k1');
INSERT INTO entries VALUES (12, '{"digest":"014b144307251b48163af7880c9dbceacb7d385732b76dd2ea3fead570b303d4","id":12,"kind":"answer","of":11,"previous":"5e0db70f221661f4715816acf5fe21f2cf6a5573f553abde27f9b1253d65c6f5","size":264,"time":"2026-11-19T22:24:53.960013Z"}', '4d56c809f654dc9daff0b0016c9052f19a436108e32ec12b81f7386a4b0c0974', NULL, NULL);
INSERT INTO entries VALUES (13, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":13,"key":"k2","kind":"spend","previous":"4d56c809f654dc9daff0b0016c9052f19a436108e32ec12b81f7386a4b0c0974","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"SELECT COUNT(*) FROM visits WHERE age = 2","secure":true,"tables":["visits"],"time":"2026-11-19T22:24:54.015791Z","unit":"patient","version":"1"}', 'd189c69e5a49a88e214acb1cb6930de05849009e659419fc954a5bef199c6aa6', 'ada', 'k2');
INSERT INTO entries VALUES (14, '{"analyst":"b\u00f6b","event":{"delta":"1/10000000","epsilon":"1/10","kind":"ApproxEvent"},"id":14,"key":"d","kind":"spend","previous":"d189c69e5a49a88e214acb1cb6930de05849009e659419fc954a5bef199c6aa6","price":{"delta":"1/10000000","epsilon":"1/10","rho":"1/200"},"query":"","secure":true,"tables":["bills"],"time":"2026-11-19T22:24:54.108127Z","unit":"patient","version":null}', 'dcd8f32a3b2ea9b2f0aa343a904d0bc7cd6ba305b40d50ed8f88ca2d71a13a33', 'böb', 'd');
INSERT INTO entries VALUES (15, '{"analyst":null,"event":{"kind":"GaussianEvent","sensitivity":"1","sigma":"30"},"id":15,"key":null,"kind":"spend","previous":"dcd8f32a3b2ea9b2f0aa343a904d0bc7cd6ba305b40d50ed8f88ca2d71a13a33","price":{"delta":"0","epsilon":null,"rho":"1/1800"},"query":"SELECT 1","secure":true,"tables":["signals"],"time":"2026-11-19T22:24:54.275695Z","unit":"device","version":null}', 'd6f11ba20610de724b98a27fd3cecd3ee57ab3d31ab8cd4ef425ef92e74ed5fe', NULL, NULL);
INSERT INTO entries VALUES (16, '{"analyst":null,"event":null,"id":16,"key":null,"kind":"spend","previous":"d6f11ba20610de724b98a27fd3cecd3ee57ab3d31ab8cd4ef425ef92e74ed5fe","price":{"delta":"0","epsilon":"1/3","rho":"1/18"},"query":"","secure":true,"tables":["shifts","wards"],"time":"2026-11-19T22:24:54.439696Z","unit":"doctor","version":"2"}', '05bed8985f5c0bf5eaffed93111560138f634ba0f0f095b0fd40491d4c893d39', NULL, NULL);
INSERT INTO entries VALUES (17, '{"cap":{"delta":"1/1000000","epsilon":"3/2","kind":"ApproxDP","neighbours":null},"id":17,"kind":"top_up","previous":"05bed8985f5c0bf5eaffed93111560138f634ba0f0f095b0fd40491d4c893d39","reason":"a second study","rho_cap":"1721567491563/35184372088832","time":"2026-11-19T22:24:54.639555Z","unit":"patient"}', '493141876cf788d2b445fc3a22726f3e4fd37fe6e4fc3623429aa9086ebc27d1', NULL, NULL);
INSERT INTO entries VALUES (18, '{"cap":{"delta":"1/1000000","epsilon":"1","kind":"ApproxDP","neighbours":null},"id":18,"kind":"renewal","period":"2027","previous":"493141876cf788d2b445fc3a22726f3e4fd37fe6e4fc3623429aa9086ebc27d1","reason":"a new year","rho_cap":"403519829531/17592186044416","time":"2026-11-19T22:24:54.727562Z","unit":"patient"}', 'bd3e1d084c26a49b87e854c8f9d03d77c35eea96a5f6675d1ce335eb4a47a457', NULL, NULL);
INSERT INTO entries VALUES (19, '{"analyst":"ada","event":{"kind":"LaplaceEvent","scale":"10","sensitivity":1},"id":19,"key":null,"kind":"spend","previous":"bd3e1d084c26a49b87e854c8f9d03d77c35eea96a5f6675d1ce335eb4a47a457","price":{"delta":"0","epsilon":"1/10","rho":"1/200"},"query":"","secure":true,"tables":["visits"],"time":"2026-11-19T22:24:54.796890Z","unit":"patient","version":null}', '6378266c91c0a5b3160b445789317951fa637a5448e4245ad04b4500757c1d6a', 'ada', NULL);
INSERT INTO entries VALUES (20, '{"id":20,"kind":"retirement","previous":"6378266c91c0a5b3160b445789317951fa637a5448e4245ad04b4500757c1d6a","reason":"sold","table":"bills","time":"2026-11-19T22:24:54.884811Z","unit":"patient"}', 'ec9d9d0a5d53cf2f85640af5b17b0ad47a5d55b62a285da15a2853784965b37b', NULL, NULL);
INSERT INTO entries VALUES (21, '{"id":21,"kind":"retirement","previous":"ec9d9d0a5d53cf2f85640af5b17b0ad47a5d55b62a285da15a2853784965b37b","reason":"a mistake","table":"wards","time":"2026-11-19T22:24:54.974828Z","unit":"doctor"}', '6ce37545ac773615fdbda04aec6e39ef49e4b6623c3284c83324910a6d482ea1', NULL, NULL);
INSERT INTO entries VALUES (22, '{"id":22,"kind":"reopening","previous":"6ce37545ac773615fdbda04aec6e39ef49e4b6623c3284c83324910a6d482ea1","reason":"it was one","table":"wards","time":"2026-11-19T22:24:55.040429Z","unit":"doctor"}', '84d4c8534455177cbc8763826ef035246f1824078b926ef69bdc6576fcfbc8e9', NULL, NULL);
INSERT INTO entries VALUES (23, '{"id":23,"kind":"erasure","previous":"84d4c8534455177cbc8763826ef035246f1824078b926ef69bdc6576fcfbc8e9","requests":3,"table":"visits","time":"2026-11-19T22:24:55.092672Z","unit":"patient","version":"2"}', 'ec3bb3d7c29e749143c5796e99dac858ad074f5abee5c2077930392b03ad0603', NULL, NULL);
INSERT INTO entries VALUES (24, '{"id":24,"kind":"witness","previous":"ec3bb3d7c29e749143c5796e99dac858ad074f5abee5c2077930392b03ad0603","reason":"it goes to an archive","state":"ended","time":"2026-11-19T22:24:55.156874Z"}', '0eb351805d2edb17d32cd7c24e624ecd9b66b3edfb543040bd1d661c802ccb43', NULL, NULL);
INSERT INTO head VALUES (1, 3, 24, '0eb351805d2edb17d32cd7c24e624ecd9b66b3edfb543040bd1d661c802ccb43', NULL);
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
