"""Ask Apache Spark where the rows are: one statement goes there, and one row of integers for each group comes back."""

import shutil
import warnings
from pathlib import Path

out = Path("out/spark")
shutil.rmtree(out, ignore_errors=True)
out.mkdir(parents=True)

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of PySpark, about the versions of others
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    settings = (
        "sql.shuffle.partitions=2 driver.host=127.0.0.1 ui.enabled=false ui.showConsoleProgress=false log.level=OFF"
    )
    for name, value in (setting.split("=") for setting in settings.split()):
        builder = builder.config(f"spark.{name}", value)
    session = builder.config("spark.sql.warehouse.dir", str(out.resolve())).getOrCreate()

# A view of made-up visits; you have a table already, in Parquet or a lakehouse.
columns = (
    "id % 100000 AS patient, element_at(array('cardiology', 'oncology', 'surgery'), CAST(1 + id % 3 AS INT)) AS ward"
)
columns += ", CAST(id % 100 AS INT) AS age, id % 977 + 0.5D AS cost, CAST(2020 + id % 7 AS INT) AS year"
session.sql(f"SELECT {columns} FROM range(1000000)").createOrReplaceTempView("visits")

# --8<-- [start:ask]
import discreet as dc

domain = dc.Domain({
    "patient": dc.Identifier(), "ward": dc.Categorical(["cardiology", "oncology", "surgery"]),
    "age": dc.Integer(0, 119), "cost": dc.Real(0, 5000, step="0.01"), "year": dc.Integer(2000, 2030),
})  # fmt: skip
engine = dc.data.engines.Spark(session)  # of a cluster: SparkSession.builder.remote("sc://cluster:15002").getOrCreate()
visits = dc.Table(
    "spark://visits", unit="patient", rows_per_unit=10, groups_per_unit=2, domain=domain, engine=engine
)  # fmt: skip
curator = dc.Curator({"visits": visits}, budget=dc.ApproxDP(1.0, 1e-6), ledger=str(out / "ledger.db"))
sql = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE year = 2023 AND age >= 65 GROUP BY ward"
answer = curator.ask(sql, epsilon=0.5)
print(answer.to_pandas())
# --8<-- [end:ask]
session.stop()

answer.plot().save(out / "34_spark.svg")
