"""One Spark session for all tests of a process: local, small, offline, started when the first test asks for it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import shutil
import tempfile
import warnings
from pathlib import Path

import pytest

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.adaptive.enabled": "false",  # plans of a few rows
    "spark.default.parallelism": "2",
    "spark.log.level": "OFF",
    "spark.driver.extraJavaOptions": "-Xss4m -XX:TieredStopAtLevel=1",
    "spark.sql.session.timeZone": "America/Los_Angeles",  # nothing may depend on it
}

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}  # half the time


@functools.cache
def session():
    """The session; without Java the test fails and says what to install."""
    if shutil.which("java") is None:
        pytest.fail("Spark needs Java: apt-get install openjdk-17-jre-headless")
    folder = Path(tempfile.mkdtemp(prefix="discreet-spark-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of PySpark, about the versions of others
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master("local[2]").appName("discreet")
        for name, value in SETTINGS.items():
            builder = builder.config(name, value)
        for name in ("spark.sql.warehouse.dir", "spark.local.dir"):
            builder = builder.config(name, str(folder))
        made = builder.getOrCreate()
    atexit.register(made.stop)
    return made


@contextlib.contextmanager
def settings(made, values):
    """Other settings for a while."""
    before = {name: made.conf.get(name, None) for name in values}
    for name, value in values.items():
        made.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            made.conf.unset(name) if value is None else made.conf.set(name, value)
