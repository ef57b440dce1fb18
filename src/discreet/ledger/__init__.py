"""What has been spent: exact amounts, caps inside caps, a durable chain of entries."""

from discreet.ledger.account import Account as Account
from discreet.ledger.account import Balance as Balance
from discreet.ledger.account import Remainder as Remainder
from discreet.ledger.budget import Budget as Budget
from discreet.ledger.chain import Anchor as Anchor
from discreet.ledger.chain import Entry as Entry
from discreet.ledger.ledger import Ledger as Ledger
from discreet.ledger.report import Report as Report
from discreet.ledger.request import Receipt as Receipt
from discreet.ledger.witness import Witness as Witness
