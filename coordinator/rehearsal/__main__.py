"""`python -m coordinator.rehearsal`: the practice agent, for whoever has the package on the path."""

import os

from coordinator.rehearsal.agent import main

os._exit(main())
